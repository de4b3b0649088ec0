import { expect, test } from 'vitest'
import { createMetrics, figureTable, measureFigures, Registry } from './metrics.ts'

const TABLE = {
  till_sales_total: { kind: 'counter', help: 'Sales.', labels: ['item', 'paid'] },
  till_opened_total: { kind: 'counter', help: 'Openings.' },
  till_coins: { kind: 'gauge', help: 'Coins.', labels: ['side'] },
  till_sale_seconds: { kind: 'histogram', help: 'A sale.', bucketsSeconds: [1, 10] },
} as const

test('S4: a table registers each of its metrics once, with its kind, help and labels', async () => {
  const registry = new Registry()
  const metrics = createMetrics(registry, TABLE)
  metrics.count('till_sales_total', { item: 'tea', paid: 'true' })
  metrics.count('till_sales_total', { item: 'tea', paid: 'true' })
  metrics.count('till_opened_total')
  metrics.observe('till_sale_seconds', 3)
  expect((await registry.metrics()).split('\n').filter((line) => line !== '')).toEqual([
    '# HELP till_sales_total Sales.',
    '# TYPE till_sales_total counter',
    'till_sales_total{item="tea",paid="true"} 2',
    '# HELP till_opened_total Openings.',
    '# TYPE till_opened_total counter',
    'till_opened_total 1',
    '# HELP till_coins Coins.',
    '# TYPE till_coins gauge',
    '# HELP till_sale_seconds A sale.',
    '# TYPE till_sale_seconds histogram',
    'till_sale_seconds_bucket{le="1"} 0',
    'till_sale_seconds_bucket{le="10"} 1',
    'till_sale_seconds_bucket{le="+Inf"} 1',
    'till_sale_seconds_sum 3',
    'till_sale_seconds_count 1',
  ])
})

test('what is read at a scrape is read anew each time, and reading a total changes nothing', async () => {
  const registry = new Registry()
  const metrics = createMetrics(registry, TABLE)
  let opened = 0
  metrics.read('till_opened_total', (show) => show(opened))
  metrics.read('till_coins', async (show) => {
    show(opened, { side: 'heads' })
    show(Number.NaN, { side: 'tails' })
  })
  const values = async () =>
    (await registry.metrics()).split('\n').filter((line) => /^till_(?:opened|coins)/.test(line))
  await values()
  opened = 7
  await values()
  expect(await values()).toEqual([
    'till_opened_total 7',
    'till_coins{side="heads"} 7',
    'till_coins{side="tails"} NaN',
  ])
})

test.each([
  ['at once', (sides: { heads: number; tails: number }) => sides],
  ['later', async (sides: { heads: number; tails: number }) => sides],
])('S4: what several metrics show is read once for each scrape, %s', async (_, pass) => {
  const registry = new Registry()
  let reads = 0
  createMetrics(registry, {
    coin_heads: { kind: 'gauge', help: 'Heads.' },
    coin_tails_total: { kind: 'counter', help: 'Tails.' },
  } as const).readTogether(
    () => {
      reads += 1
      return pass({ heads: reads, tails: 10 * reads })
    },
    { coin_heads: ({ heads }) => heads, coin_tails_total: ({ tails }) => tails },
  )
  for (const scrape of [1, 2]) {
    const text = await registry.metrics()
    expect(text).toContain(`coin_heads ${scrape}\n`)
    expect(text).toContain(`coin_tails_total ${10 * scrape}\n`)
    expect(reads).toBe(scrape)
  }
})

test('S4: figures are metrics by their names, and their totals counters', async () => {
  const registry = new Registry()
  const helps = { openTabs: 'Tabs.', soldTotal: 'Sold.' }
  measureFigures(registry, { prefix: 'bar', helps, read: () => ({ openTabs: 2, soldTotal: 9 }) })
  expect(figureTable('bar', helps)).toEqual({
    bar_open_tabs: { kind: 'gauge', help: 'Tabs.' },
    bar_sold_total: { kind: 'counter', help: 'Sold.' },
  })
  expect((await registry.metrics()).match(/^bar.*$/gm)).toEqual([
    'bar_open_tabs 2',
    'bar_sold_total 9',
  ])
})
