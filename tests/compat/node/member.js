/**
 * One member of a consumer group, through kafkajs. What it says on stdout, a JSON object per line,
 * is told in tests/compat/clients/members.py; it leaves the group when its stdin ends.
 */
'use strict'

const { Kafka, logLevel } = require('kafkajs')

const options = JSON.parse(process.argv[2])
const say = (event) => process.stdout.write(JSON.stringify(event) + '\n')

async function main() {
  const kafka = new Kafka({
    brokers: [options.bootstrap],
    logLevel: logLevel.ERROR,
    // An application's patience with a broker that restarts.
    retry: { retries: 30, initialRetryTime: 100, maxRetryTime: 1000 },
  })
  const consumer = kafka.consumer({
    groupId: options.group,
    sessionTimeout: options.session_ms,
    heartbeatInterval: options.heartbeat_ms,
    metadataMaxAge: 5000,
    maxWaitTimeInMs: 500,
  })
  consumer.on(consumer.events.REBALANCING, () => say({ assigned: [] }))
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    say({ assigned: [] })
    say({ assigned: payload.memberAssignment[options.topic] || [] })
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [options.topic], fromBeginning: true })
  await consumer.run({
    eachBatch: async ({ batch }) => {
      say({ records: batch.messages.map((message) => [batch.partition, Number(message.offset)]) })
    },
  })
  process.stdin.on('data', () => {})
  process.stdin.on('end', async () => {
    await consumer.disconnect()
    say({ left: true })
    process.exit(0)
  })
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
