package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// franz drives github.com/twmb/franz-go.
type franz struct {
	bootstrap []string
	admin     *kadm.Client
}

func newFranz(bootstrap string) (*franz, error) {
	addresses := strings.Split(bootstrap, ",")
	c, err := kgo.NewClient(kgo.SeedBrokers(addresses...))
	if err != nil {
		return nil, err
	}
	return &franz{addresses, kadm.NewClient(c)}, nil
}

func (f *franz) code(err error) int {
	var known *kerr.Error
	if errors.As(err, &known) {
		return int(known.Code)
	}
	return -1
}

func (f *franz) handle(req request, ans *answer) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch req.Op {
	case "create_topic":
		configs := map[string]*string{}
		for name, value := range req.Configs {
			configs[name] = kadm.StringPtr(value)
		}
		_, err := f.admin.CreateTopic(ctx, max(req.Partitions, 1), -1, configs, req.Topic)
		return err
	case "delete_topic":
		_, err := f.admin.DeleteTopic(ctx, req.Topic)
		return err
	case "list_topics":
		topics, err := f.admin.ListTopics(ctx)
		ans.Topics = topics.Names()
		return err
	case "topic_config":
		found, err := f.admin.DescribeTopicConfigs(ctx, req.Topic)
		if err != nil {
			return err
		}
		ans.Configs = map[string]string{}
		for _, entry := range found[0].Configs {
			ans.Configs[entry.Key] = entry.MaybeValue()
		}
		return found[0].Err
	case "set_topic_config":
		var changes []kadm.AlterConfig
		for name, value := range req.Configs {
			changes = append(changes, kadm.AlterConfig{Name: name, Value: kadm.StringPtr(value)})
		}
		done, err := f.admin.AlterTopicConfigs(ctx, changes, req.Topic)
		if err != nil {
			return err
		}
		return done[0].Err
	case "produce":
		return f.produce(ctx, req, ans)
	case "consume":
		return f.consume(ctx, req, ans)
	case "offset_at":
		return f.offsetAt(ctx, req, ans)
	}
	return fmt.Errorf("unknown op %q", req.Op)
}

func (f *franz) produce(ctx context.Context, req request, ans *answer) error {
	options := []kgo.Opt{
		kgo.SeedBrokers(f.bootstrap...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(2),
	}
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	if codec, named := codecs[req.Codec]; named {
		options = append(options, kgo.ProducerBatchCompression(codec))
	}
	switch req.Acks {
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	producer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer producer.Close()
	var records []*kgo.Record
	for _, r := range req.Records {
		one := &kgo.Record{Topic: req.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value}
		one.Timestamp = time.UnixMilli(r.Timestamp)
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, kgo.RecordHeader{Key: h.Name, Value: h.Value})
		}
		records = append(records, one)
	}
	results := producer.ProduceSync(ctx, records...)
	if err := results.FirstErr(); err != nil {
		return err
	}
	for _, r := range records {
		ans.Offsets = append(ans.Offsets, r.Offset)
	}
	return nil
}

func (f *franz) consume(ctx context.Context, req request, ans *answer) error {
	from := map[int32]kgo.Offset{}
	for partition, offset := range req.Starts {
		from[partition] = kgo.NewOffset().At(offset)
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(f.bootstrap...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{req.Topic: from}),
	}
	if req.Group != "" {
		options = []kgo.Opt{
			kgo.SeedBrokers(f.bootstrap...), kgo.ConsumeTopics(req.Topic), kgo.ConsumerGroup(req.Group),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		}
	}
	consumer, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for len(ans.Records) < req.Count {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			one := record{
				Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(),
				Key: r.Key, Value: r.Value, Headers: []header{},
			}
			for _, h := range r.Headers {
				one.Headers = append(one.Headers, header{h.Key, h.Value})
			}
			ans.Records = append(ans.Records, one)
		})
	}
	return nil
}

func (f *franz) offsetAt(ctx context.Context, req request, ans *answer) error {
	var listed kadm.ListedOffsets
	var err error
	switch req.Timestamp {
	case -1:
		listed, err = f.admin.ListEndOffsets(ctx, req.Topic)
	case -2:
		listed, err = f.admin.ListStartOffsets(ctx, req.Topic)
	default:
		listed, err = f.admin.ListOffsetsAfterMilli(ctx, req.Timestamp, req.Topic)
	}
	if err != nil {
		return err
	}
	found, _ := listed.Lookup(req.Topic, req.Partition)
	ans.Offset = &found.Offset
	// kadm answers "after the end" with the end offset and no timestamp; the others say -1.
	if req.Timestamp >= 0 && found.Timestamp < 0 {
		*ans.Offset = -1
	}
	return found.Err
}
