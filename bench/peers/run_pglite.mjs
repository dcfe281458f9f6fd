// pg_ivm in PostgreSQL in WebAssembly keeps all views while the tables change; a step is one transaction.
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { join } from 'node:path'

const module = (name) => import(pathToFileURL(join(process.env.BENCH_NODE, 'node_modules/@electric-sql', name)))
const { PGlite } = await module('pglite/dist/index.js')
const { pg_ivm } = await module('pglite-pg_ivm/dist/index.js')
const TYPES = { string: 'text' }
const job = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const database = await PGlite.create({ extensions: { pg_ivm } })
await database.exec('create extension pg_ivm; set enable_mergejoin = off')

async function load(step, kind, table, into) {
  const text = readFileSync(join(job.data, String(step), kind, `${table}.csv`))
  await database.query(`copy ${into} from '/dev/blob' with (format csv, header)`, [], { blob: new Blob([text]) })
}

async function first() {
  for (const table of Object.keys(job.tables)) await load(0, 'full', table, table)
  for (const table of Object.keys(job.tables)) await database.exec(`create index on ${table} (${Object.keys(job.tables[table])[0]})`)
  await database.exec('analyze')
  for (const [view, query] of Object.entries(job.program)) {
    await database.query('select pgivm.create_immv($1, $2)', [view, query])
  }
}

async function change() {
  for (const [table, columns] of Object.entries(job.tables)) {
    const same = Object.keys(columns).map((name) => `t.${name} = m.${name}`).join(' and ')
    await database.exec(`delete from ${table} t using minus_${table} m where ${same}`)
    await database.exec(`insert into ${table} select * from plus_${table}`)
  }
}

async function stage(step) {
  for (const table of Object.keys(job.tables)) {
    for (const kind of ['plus', 'minus']) {
      await database.exec(`drop table if exists ${kind}_${table}; create table ${kind}_${table} (like ${table})`)
      await load(step, kind, table, `${kind}_${table}`)
    }
  }
}

for (const [table, columns] of Object.entries(job.tables)) {
  const typed = Object.entries(columns).map(([name, type]) => `${name} ${TYPES[type] ?? type}`)
  await database.exec(`create table ${table} (${typed.join(', ')})`)
}
for (let step = 0; step < job.steps; step++) {
  if (step > 0) await stage(step)
  const started = performance.now()
  await (step === 0 ? first() : change())
  const seconds = (performance.now() - started) / 1000
  for (const [view, columns] of Object.entries(job.views)) {
    const names = Object.keys(columns).join(', ')
    const { blob } = await database.query(`copy (select ${names} from ${view}) to '/dev/blob' with (format csv)`)
    writeFileSync(join(job.results, String(step), `${view}.csv`), blob ? await blob.text() : '')
  }
  console.log(JSON.stringify({ step, seconds }))
}
process.exit(0)
