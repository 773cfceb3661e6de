/**
 * kafkajs's transactional producer behind a pipe; the requests are those of clients/transactors.py.
 */
'use strict'

const readline = require('readline')
const { Kafka, logLevel } = require('kafkajs')

const PATIENCE_MS = 120000

const kafka = new Kafka({
  brokers: process.argv[2].split(','),
  logLevel: logLevel.NOTHING,
  retry: { initialRetryTime: 50, retries: 8 },
})
const producers = new Map()
const transactions = new Map()

async function open(id) {
  const producer = kafka.producer({
    transactionalId: id,
    transactionTimeout: 120000,
    idempotent: true,
    maxInFlightRequests: 1,
    allowAutoTopicCreation: false,
  })
  await producer.connect()
  return producer
}

const end = (transaction, isCommitted) => (isCommitted ? transaction.commit() : transaction.abort())

/** Copies what a group reads; every transaction is aborted once, after all has been written. */
async function copy({ id, group, source, target, count }) {
  const producer = await open(id)
  const consumer = kafka.consumer({ groupId: group, readUncommitted: false })
  await consumer.connect()
  let missing = count
  try {
    await consumer.subscribe({ topics: [source], fromBeginning: true })
    await new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`${missing} of ${count} records missing`)), PATIENCE_MS).unref()
      consumer.run({
        autoCommit: false,
        eachBatch: async ({ batch: { partition, messages } }) => {
          try {
            for (const isCommitted of [false, true]) {
              const transaction = await producer.transaction()
              await transaction.send({
                topic: target,
                messages: messages.map(({ value }) => ({ partition, value })),
              })
              const offset = String(Number(messages[messages.length - 1].offset) + 1)
              await transaction.sendOffsets({
                consumerGroupId: group,
                topics: [{ topic: source, partitions: [{ partition, offset }] }],
              })
              await end(transaction, isCommitted)
            }
            missing -= messages.length
            if (missing <= 0) resolve()
          } catch (error) {
            reject(error)
          }
        },
      })
    })
  } finally {
    await consumer.disconnect()
    await producer.disconnect()
  }
}

const OPERATIONS = {
  // kafkajs takes over the id in the first transaction, not before.
  open: async ({ producer, id }) => {
    producers.set(producer, await open(id))
    transactions.set(producer, await producers.get(producer).transaction())
  },
  begin: async ({ producer }) => {
    if (!transactions.has(producer)) transactions.set(producer, await producers.get(producer).transaction())
  },
  send: async ({ producer, topic, partition, values }) => {
    const messages = values.map((value) => ({ partition, value }))
    await transactions.get(producer).send({ topic, messages })
  },
  end: async ({ producer, commit }) => {
    const transaction = transactions.get(producer)
    transactions.delete(producer)
    await end(transaction, commit)
  },
  close: async ({ producer }) => {
    await producers.get(producer).disconnect()
    producers.delete(producer)
  },
  copy,
}

function errorCode(error) {
  for (let one = error; one; one = one.cause || (one.errors && one.errors[0])) {
    if (typeof one.code === 'number') return one.code
  }
  return -1
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    let answer = {}
    try {
      const request = JSON.parse(line)
      await OPERATIONS[request.op](request)
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
