package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

// memberOptions say which group to join, and how; tests/compat/clients/members.py tells what a
// member says on stdout. It leaves the group when its stdin ends.
type memberOptions struct {
	Bootstrap   string `json:"bootstrap"`
	Group       string `json:"group"`
	Topic       string `json:"topic"`
	Protocol    string `json:"protocol"`
	Assignor    string `json:"assignor"`
	Instance    string `json:"instance"`
	SessionMs   int    `json:"session_ms"`
	HeartbeatMs int    `json:"heartbeat_ms"`
}

func (o memberOptions) session() time.Duration {
	return time.Duration(o.SessionMs) * time.Millisecond
}

func (o memberOptions) heartbeat() time.Duration {
	return time.Duration(o.HeartbeatMs) * time.Millisecond
}

// teller prints events; partitions come and go on other goroutines than records.
type teller struct {
	mu    sync.Mutex
	out   *bufio.Writer
	owned map[int32]bool
}

func (t *teller) say(event any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	t.out.Write(append(line, '\n'))
	t.out.Flush()
}

func (t *teller) records(found [][2]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say(map[string]any{"records": found})
}

// change notes partitions that came or went, and tells which there are now.
func (t *teller) change(partitions []int32, isOwned bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, partition := range partitions {
		if isOwned {
			t.owned[partition] = true
		} else {
			delete(t.owned, partition)
		}
	}
	now := slices.Sorted(maps.Keys(t.owned))
	if now == nil {
		now = []int32{}
	}
	t.say(map[string]any{"assigned": now})
}

func runMember(library, text string) error {
	var options memberOptions
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	tell := &teller{out: bufio.NewWriter(os.Stdout), owned: map[int32]bool{}}
	run := franzMember
	if library == "sarama" {
		run = saramaMember
	}
	if err := run(ctx, options, tell); err != nil {
		return err
	}
	tell.say(map[string]any{"left": true})
	return nil
}

func franzMember(ctx context.Context, options memberOptions, tell *teller) error {
	lost := func(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
		tell.change(gone[options.Topic], false)
	}
	settings := []kgo.Opt{
		kgo.SeedBrokers(options.Bootstrap),
		kgo.ConsumerGroup(options.Group),
		kgo.ConsumeTopics(options.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(options.session()),
		kgo.HeartbeatInterval(options.heartbeat()),
		kgo.MetadataMaxAge(5 * time.Second),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, came map[string][]int32) {
			tell.change(came[options.Topic], true)
		}),
		kgo.OnPartitionsRevoked(lost),
		kgo.OnPartitionsLost(lost),
	}
	if options.Protocol == "consumer" {
		settings = append(settings, kgo.ServerSideBalancer())
	}
	if options.Assignor == "range" {
		settings = append(settings, kgo.Balancers(kgo.RangeBalancer()))
	}
	if options.Instance != "" {
		settings = append(settings, kgo.InstanceID(options.Instance))
	}
	client, err := kgo.NewClient(settings...)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		var found [][2]int64
		fetches.EachRecord(func(r *kgo.Record) {
			found = append(found, [2]int64{int64(r.Partition), r.Offset})
		})
		if len(found) > 0 {
			tell.records(found)
			if err := client.CommitUncommittedOffsets(context.Background()); err != nil {
				// Whoever has the partitions now reads these records again.
				fmt.Fprintln(os.Stderr, err)
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}

// claimer is sarama's handler of a session: the time between two rebalances.
type claimer struct {
	topic string
	tell  *teller
}

func (c claimer) Setup(session sarama.ConsumerGroupSession) error {
	c.tell.change(session.Claims()[c.topic], true)
	return nil
}

func (c claimer) Cleanup(session sarama.ConsumerGroupSession) error {
	c.tell.change(session.Claims()[c.topic], false)
	return nil
}

func (c claimer) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			c.tell.records([][2]int64{{int64(m.Partition), m.Offset}})
			session.MarkMessage(m, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func saramaMember(ctx context.Context, options memberOptions, tell *teller) error {
	config := saramaConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	config.Consumer.Group.Session.Timeout = options.session()
	config.Consumer.Group.Heartbeat.Interval = options.heartbeat()
	config.Consumer.Group.InstanceId = options.Instance
	config.Metadata.RefreshFrequency = 5 * time.Second
	group, err := sarama.NewConsumerGroup([]string{options.Bootstrap}, options.Group, config)
	if err != nil {
		return err
	}
	go func() {
		for err := range group.Errors() {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	for ctx.Err() == nil {
		err := group.Consume(ctx, []string{options.Topic}, claimer{options.Topic, tell})
		if err != nil && !errors.Is(err, context.Canceled) {
			// A broker that is away for a moment: try again, as an application would.
			fmt.Fprintln(os.Stderr, err)
			time.Sleep(200 * time.Millisecond)
		}
	}
	return group.Close()
}
