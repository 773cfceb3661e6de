/**
 * kafkajs behind a pipe: a JSON request per line on stdin, a JSON answer per line on stdout. The
 * requests are those of tests/compat/clients/driver.py. Clients keep their default settings unless
 * a request names one.
 *
 * kafkajs consumes only in groups. To read a partition without one, its own cluster and broker
 * objects are asked directly, below its consumer: the same connection, request and decoder.
 */
'use strict'

const readline = require('readline')
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require('kafkajs')
const lz4 = require('lz4js')
const xxhash = require('lz4js/xxh32')
const snappy = require('kafkajs-snappy')
const zstd = require('@bokuweb/zstd-wasm')

const PATIENCE_MS = 120000
const READ_COMMITTED = 1
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

/**
 * lz4js leaves the flag of independent blocks off, and Kafka refuses such frames. Up to 4 MiB are
 * one block, which depends on nothing: set the flag, and the header's checksum with it.
 */
function asIndependentBlock(frame) {
  frame[4] |= 0x20
  frame[6] = (xxhash.hash(0, frame, 4, 2) >> 8) & 0xff
  return Buffer.from(frame)
}

CompressionCodecs[CompressionTypes.Snappy] = snappy
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: async (encoder) => asIndependentBlock(lz4.compress(encoder.buffer)),
  decompress: async (buffer) => Buffer.from(lz4.decompress(buffer)),
})
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async (encoder) => Buffer.from(zstd.compress(encoder.buffer, 3)),
  decompress: async (buffer) => Buffer.from(zstd.decompress(buffer)),
})

const kafka = new Kafka({
  brokers: process.argv[2].split(','),
  logLevel: logLevel.NOTHING,
  retry: { retries: 2 },
})
const admin = kafka.admin()
let cluster

const bytes = (text) => (text === null || text === undefined ? null : Buffer.from(text, 'base64'))
const text = (data) => (data === null || data === undefined ? null : data.toString('base64'))
const entries = (configs) => Object.entries(configs || {}).map(([name, value]) => ({ name, value }))

function toRecord(partition, message) {
  const headers = []
  for (const [name, value] of Object.entries(message.headers || {})) {
    for (const one of Array.isArray(value) ? value : [value]) headers.push([name, text(one)])
  }
  return {
    partition,
    offset: Number(message.offset),
    timestamp: Number(message.timestamp),
    key: text(message.key),
    value: text(message.value),
    headers,
  }
}

async function produce(request) {
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  try {
    const messages = request.records.map((record) => ({
      partition: record.partition,
      timestamp: String(record.timestamp),
      key: bytes(record.key),
      value: bytes(record.value),
      headers: Object.fromEntries(record.headers.map(([name, value]) => [name, bytes(value)])),
    }))
    const results = await producer.send({
      topic: request.topic,
      messages,
      ...(request.codec === undefined ? {} : { compression: CODECS[request.codec] }),
      ...(request.acks === undefined ? {} : { acks: request.acks === 'all' ? -1 : Number(request.acks) }),
    })
    // kafkajs names one base offset per partition; the records of a partition follow it in order.
    const next = new Map(results.map((one) => [one.partition, Number(one.baseOffset)]))
    const offsets = request.records.map(({ partition }) => {
      const offset = next.has(partition) ? next.get(partition) : -1
      next.set(partition, offset + 1)
      return offset
    })
    return { offsets }
  } finally {
    await producer.disconnect()
  }
}

async function consume(request) {
  const { topic, starts, count } = request
  await cluster.addTargetTopic(topic)
  await cluster.refreshMetadata()
  // One broker leads every partition here.
  const broker = await cluster.findBroker({ nodeId: cluster.findTopicPartitionMetadata(topic)[0].leader })
  const records = []
  const deadline = Date.now() + PATIENCE_MS
  const next = new Map(Object.entries(starts).map(([partition, offset]) => [Number(partition), offset]))
  while (records.length < count && Date.now() < deadline) {
    const partitions = [...next].map(([partition, offset]) => ({
      partition,
      fetchOffset: String(offset),
      maxBytes: 1048576,
      currentLeaderEpoch: -1,
    }))
    const { responses } = await broker.fetch({
      maxWaitTime: 500,
      isolationLevel: READ_COMMITTED,
      topics: [{ topic, partitions }],
    })
    for (const found of responses.flatMap((response) => response.partitions)) {
      for (const message of found.messages) {
        const record = toRecord(found.partition, message)
        if (record.offset < next.get(found.partition)) continue
        records.push(record)
        next.set(found.partition, record.offset + 1)
      }
    }
  }
  return { records }
}

async function consumeInGroup({ topic, group, count }) {
  const consumer = kafka.consumer({ groupId: group })
  await consumer.connect()
  const records = []
  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${records.length} of ${count} records in time`)), PATIENCE_MS).unref()
      consumer.run({
        eachMessage: async ({ partition, message }) => {
          records.push(toRecord(partition, message))
          if (records.length === count) resolve()
        },
      })
    })
  } finally {
    await consumer.disconnect()
  }
  return { records }
}

async function offsetAt({ topic, partition, timestamp }) {
  if (timestamp < 0) {
    const listed = await admin.fetchTopicOffsets(topic)
    const found = listed.find((one) => one.partition === partition)
    return { offset: Number(timestamp === -1 ? found.high : found.low) }
  }
  const ends = await admin.fetchTopicOffsets(topic)
  const listed = await admin.fetchTopicOffsetsByTimestamp(topic, timestamp)
  const offset = Number(listed.find((one) => one.partition === partition).offset)
  // kafkajs answers "after the last record" with the end offset; the other clients say -1.
  return { offset: offset === Number(ends.find((one) => one.partition === partition).high) ? -1 : offset }
}

async function topicConfig({ topic }) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }],
  })
  const pairs = resources[0].configEntries.map((one) => [one.configName, one.configValue])
  return { configs: Object.fromEntries(pairs) }
}

const OPERATIONS = {
  create_topic: async ({ topic, partitions, configs }) => {
    const created = await admin.createTopics({
      topics: [{ topic, numPartitions: partitions || 1, configEntries: entries(configs) }],
    })
    // kafkajs tells of an existing topic by returning false, without the code.
    return created ? {} : { error: 36, message: 'createTopics returned false' }
  },
  delete_topic: async ({ topic }) => (await admin.deleteTopics({ topics: [topic] })) || {},
  list_topics: async () => ({ topics: await admin.listTopics() }),
  topic_config: topicConfig,
  set_topic_config: async ({ topic, configs }) => {
    await admin.alterConfigs({
      validateOnly: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: entries(configs) }],
    })
    return {}
  },
  produce,
  consume: (request) => (request.group ? consumeInGroup(request) : consume(request)),
  offset_at: offsetAt,
}

function errorCode(error) {
  for (let one = error; one; one = one.cause || (one.errors && one.errors[0])) {
    if (typeof one.code === 'number') return one.code
  }
  return -1
}

async function main() {
  await zstd.init()
  await admin.connect()
  const createCluster = Object.getOwnPropertySymbols(kafka).find((symbol) => String(symbol).includes('createCluster'))
  cluster = kafka[createCluster]({ metadataMaxAge: 300000, isolationLevel: READ_COMMITTED })
  await cluster.connect()
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer
    try {
      const request = JSON.parse(line)
      answer = await OPERATIONS[request.op](request)
    } catch (error) {
      answer = { error: errorCode(error), message: String(error && error.message) }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
  process.exit(0)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
