// The least that a server does which takes each payment once, loses none in a crash and signs a receipt: one durable row
// before the response, one after it, and one signature. It verifies nothing.
import { generateKeyPairSync, sign } from 'node:crypto'
import { createServer } from 'node:http'
import { DatabaseSync } from '@photostructure/sqlite'

const body = JSON.stringify({ answer: 42 })
const receiptHeader = 'payment-receipt'

/**
 * @param {{ path: string, headers: Record<string, string> }} options The file of the rows, and the headers of a response,
 *   whose receipt is replaced by a new one of the same length.
 */
export async function open({ path, headers }) {
  const { privateKey } = generateKeyPairSync('ed25519')
  const { [receiptHeader]: sample = '', ...others } = headers
  const rows = openRows(path)
  const server = createServer(async (request, response) => {
    const proof = String(request.headers['payment-proof'])
    await rows.write('payments', proof)
    const text = Buffer.alloc((sample.length * 3) >> 2, proof)
    const signature = sign(null, text, privateKey)
    const receipt = Buffer.concat([text.subarray(signature.length), signature]).toString('base64url')
    response.writeHead(200, { ...others, [receiptHeader]: receipt, 'Content-Length': body.length })
    response.end(body)
    await rows.write('ended', proof)
  })
  server.keepAliveTimeout = 60_000
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    facts: { url: `http://127.0.0.1:${port}/api/data` },
    answers: {},
    close: () => {
      server.close()
      server.closeAllConnections()
      rows.close()
    },
  }
}

/**
 * Commits the rows that wait together.
 *
 * @param {string} path
 */
function openRows(path) {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  for (const table of ['payments', 'ended'])
    database.exec(`CREATE TABLE ${table} (proof TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`)
  const insert = {
    payments: database.prepare('INSERT INTO payments VALUES (?)'),
    ended: database.prepare('INSERT INTO ended VALUES (?)'),
  }
  const [begin, commit] = [database.prepare('BEGIN IMMEDIATE'), database.prepare('COMMIT')]
  /** @type {{ table: keyof typeof insert, proof: string, done: (value?: undefined) => void }[]} */
  let waiting = []
  const flush = () => {
    const rows = waiting
    waiting = []
    begin.run()
    for (const { table, proof } of rows) insert[table].run(proof)
    commit.run()
    for (const { done } of rows) done()
  }
  return {
    /**
     * @param {keyof typeof insert} table
     * @param {string} proof
     */
    write: (table, proof) =>
      new Promise((done) => {
        if (waiting.length === 0) setImmediate(flush)
        waiting.push({ table, proof, done })
      }),
    close: () => database.close(),
  }
}
