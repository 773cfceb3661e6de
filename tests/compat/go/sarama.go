package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// saramaClient drives github.com/IBM/sarama.
type saramaClient struct {
	bootstrap []string
	client    sarama.Client
	admin     sarama.ClusterAdmin
}

func newSarama(bootstrap string) (*saramaClient, error) {
	addresses := strings.Split(bootstrap, ",")
	client, err := sarama.NewClient(addresses, saramaConfig())
	if err != nil {
		return nil, err
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	return &saramaClient{addresses, client, admin}, err
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	// sarama's default dates from before record headers and zstd: name the newest it knows.
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Return.Errors = true
	return config
}

func (s *saramaClient) code(err error) int {
	var kafka sarama.KError
	if errors.As(err, &kafka) {
		return int(kafka)
	}
	var topic *sarama.TopicError
	if errors.As(err, &topic) {
		return int(topic.Err)
	}
	var all sarama.ProducerErrors
	if errors.As(err, &all) && len(all) > 0 {
		return s.code(all[0].Err)
	}
	return -1
}

func (s *saramaClient) handle(req request, ans *answer) error {
	switch req.Op {
	case "create_topic":
		detail := &sarama.TopicDetail{NumPartitions: max(req.Partitions, 1), ReplicationFactor: 1}
		detail.ConfigEntries = map[string]*string{}
		for name, value := range req.Configs {
			detail.ConfigEntries[name] = &value
		}
		return s.admin.CreateTopic(req.Topic, detail, false)
	case "delete_topic":
		return s.admin.DeleteTopic(req.Topic)
	case "list_topics":
		topics, err := s.admin.ListTopics()
		for name := range topics {
			ans.Topics = append(ans.Topics, name)
		}
		return err
	case "topic_config":
		entries, err := s.admin.DescribeConfig(
			sarama.ConfigResource{Type: sarama.TopicResource, Name: req.Topic})
		ans.Configs = map[string]string{}
		for _, entry := range entries {
			ans.Configs[entry.Name] = entry.Value
		}
		return err
	case "set_topic_config":
		changes := map[string]sarama.IncrementalAlterConfigsEntry{}
		for name, value := range req.Configs {
			changes[name] = sarama.IncrementalAlterConfigsEntry{
				Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value}
		}
		return s.admin.IncrementalAlterConfig(sarama.TopicResource, req.Topic, changes, false)
	case "produce":
		return s.produce(req, ans)
	case "consume":
		if req.Group != "" {
			return s.consumeInGroup(req, ans)
		}
		return s.consume(req, ans)
	case "offset_at":
		_ = s.client.RefreshMetadata(req.Topic)
		offset, err := s.client.GetOffset(req.Topic, req.Partition, req.Timestamp)
		ans.Offset = &offset
		return err
	}
	return fmt.Errorf("unknown op %q", req.Op)
}

func (s *saramaClient) produce(req request, ans *answer) error {
	config := saramaConfig()
	if req.Codec != "" {
		if err := config.Producer.Compression.UnmarshalText([]byte(req.Codec)); err != nil {
			return err
		}
	}
	switch req.Acks {
	case "0":
		config.Producer.RequiredAcks = sarama.NoResponse
	case "all":
		config.Producer.RequiredAcks = sarama.WaitForAll
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	producer, err := sarama.NewSyncProducer(s.bootstrap, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, r := range req.Records {
		one := &sarama.ProducerMessage{
			Topic: req.Topic, Partition: r.Partition, Timestamp: time.UnixMilli(r.Timestamp)}
		if r.Key != nil {
			one.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			one.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			one.Headers = append(one.Headers, sarama.RecordHeader{Key: []byte(h.Name), Value: h.Value})
		}
		messages = append(messages, one)
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	for _, m := range messages {
		ans.Offsets = append(ans.Offsets, m.Offset)
	}
	return nil
}

func (s *saramaClient) consume(req request, ans *answer) error {
	consumer, err := sarama.NewConsumer(s.bootstrap, saramaConfig())
	if err != nil {
		return err
	}
	defer consumer.Close()
	found, failed := make(chan *sarama.ConsumerMessage), make(chan error)
	done := make(chan struct{})
	defer close(done)
	for number, offset := range req.Starts {
		partition, err := consumer.ConsumePartition(req.Topic, number, offset)
		if err != nil {
			return err
		}
		defer partition.AsyncClose()
		go func() {
			for {
				select {
				case m := <-partition.Messages():
					found <- m
				case err := <-partition.Errors():
					failed <- err
				case <-done:
					return
				}
			}
		}()
	}
	timeout := time.After(patience)
	for len(ans.Records) < req.Count {
		select {
		case m := <-found:
			ans.Records = append(ans.Records, fromSarama(m))
		case err := <-failed:
			return err
		case <-timeout:
			return fmt.Errorf("%d of %d records in time", len(ans.Records), req.Count)
		}
	}
	return nil
}

func fromSarama(m *sarama.ConsumerMessage) record {
	one := record{
		Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(),
		Key: m.Key, Value: m.Value, Headers: []header{},
	}
	for _, h := range m.Headers {
		one.Headers = append(one.Headers, header{string(h.Key), h.Value})
	}
	return one
}

// collector takes messages from a group session until it has enough.
type collector struct {
	found chan record
}

func (collector) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (collector) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (c collector) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			session.MarkMessage(m, "")
			c.found <- fromSarama(m)
		case <-session.Context().Done():
			return nil
		}
	}
}

func (s *saramaClient) consumeInGroup(req request, ans *answer) error {
	config := saramaConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	group, err := sarama.NewConsumerGroup(s.bootstrap, req.Group, config)
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sink := collector{make(chan record, req.Count)}
	failed := make(chan error, 1)
	go func() { failed <- group.Consume(ctx, []string{req.Topic}, sink) }()
	for len(ans.Records) < req.Count {
		select {
		case one := <-sink.found:
			ans.Records = append(ans.Records, one)
		case err := <-failed:
			return fmt.Errorf("the group session ended early: %w", err)
		}
	}
	return nil
}
