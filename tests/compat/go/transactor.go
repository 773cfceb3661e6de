package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// task is a request of clients/transactors.py.
type task struct {
	Op        string   `json:"op"`
	Producer  string   `json:"producer"`
	ID        string   `json:"id"`
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Values    []string `json:"values"`
	Commit    bool     `json:"commit"`
	Source    string   `json:"source"`
	Target    string   `json:"target"`
	Group     string   `json:"group"`
	Count     int      `json:"count"`
}

// transactor drives the transactional producers of franz-go.
type transactor struct {
	bootstrap []string
	producers map[string]*kgo.Client
}

func runTransactor(bootstrap string) error {
	t := &transactor{strings.Split(bootstrap, ","), map[string]*kgo.Client{}}
	tasks := json.NewDecoder(bufio.NewReader(os.Stdin))
	answers := json.NewEncoder(os.Stdout)
	for {
		var one task
		if err := tasks.Decode(&one); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var ans answer
		if err := t.handle(one); err != nil {
			ans.Error, ans.Message = -1, err.Error()
			var known *kerr.Error
			if errors.As(err, &known) {
				ans.Error = int(known.Code)
			}
		}
		if err := answers.Encode(ans); err != nil {
			return err
		}
	}
}

func (t *transactor) options(id string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(t.bootstrap...), kgo.TransactionalID(id),
		kgo.TransactionTimeout(120 * time.Second), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
}

func (t *transactor) handle(one task) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	producer := t.producers[one.Producer]
	switch one.Op {
	case "open":
		opened, err := kgo.NewClient(t.options(one.ID)...)
		if err != nil {
			return err
		}
		t.producers[one.Producer] = opened
		// The id is taken over when it is first needed.
		_, _, err = opened.ProducerID(ctx)
		return err
	case "begin":
		return producer.BeginTransaction()
	case "send":
		var records []*kgo.Record
		for _, value := range one.Values {
			records = append(records, &kgo.Record{
				Topic: one.Topic, Partition: one.Partition, Value: []byte(value),
			})
		}
		return producer.ProduceSync(ctx, records...).FirstErr()
	case "end":
		return producer.EndTransaction(ctx, kgo.TransactionEndTry(one.Commit))
	case "close":
		producer.Close()
		delete(t.producers, one.Producer)
		return nil
	case "copy":
		return t.copy(ctx, one)
	}
	return fmt.Errorf("unknown op %q", one.Op)
}

// copy copies what a group reads; every second transaction is aborted after all has been written,
// and the session goes back to what was committed.
func (t *transactor) copy(ctx context.Context, one task) error {
	session, err := kgo.NewGroupTransactSession(append(t.options(one.ID),
		kgo.ConsumerGroup(one.Group), kgo.ConsumeTopics(one.Source), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		return err
	}
	defer session.Close()
	missing, isCommitted := one.Count, false
	for missing > 0 {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		failed := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(ctx, &kgo.Record{
				Topic: one.Target, Partition: r.Partition, Value: r.Value,
			}, failed.Promise())
		})
		if err := failed.Err(); err != nil {
			return err
		}
		done, err := session.End(ctx, kgo.TransactionEndTry(isCommitted))
		if err != nil {
			return err
		}
		if done {
			missing -= fetches.NumRecords()
		}
		isCommitted = !isCommitted
	}
	return nil
}
