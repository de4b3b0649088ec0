// The verbs of `tallystick-agent`, in the order in which an agent needs them.
import { BadUsage } from '@tallystick/service-kit/command'
import { createMirrorNode, HBAR_ASSET } from '@tallystick/x402/hedera'
import { buy } from '../buy.ts'
import { findUsdc } from '../money-sentence.ts'
import type { SpendCap } from '../paid-request.ts'
import {
  type AgentVerb,
  countOption,
  dataOption,
  forOption,
  hbarOption,
  tokenOptions,
  usdcOption,
} from './agent-verb.ts'
import { runWatch } from './run-watch.ts'

const payVerb: AgentVerb = {
  name: 'pay',
  usage: '[--max-hbar N] [--for 0x…] [--unguarded]',
  summary:
    'calls the resource; if no window is open, pays at most N HBAR (a gift with --for) and guards the new window',
  example: 'pay --max-hbar 12',
  options: { 'max-hbar': 'text', for: 'text', unguarded: 'flag' },
  read: (call) => ({
    key: true,
    agent: forOption(call),
    maxPaymentTinybar: hbarOption(call, 'max-hbar'),
    guardsPurchases: !call.has('unguarded'),
    run: ({ agent }) => agent.access(),
  }),
}

const statusVerb: AgentVerb = {
  name: 'status',
  usage: '[--for 0x…]',
  summary: 'says window, balance and calls; free, and without a key with --for',
  example: 'status --json',
  options: { for: 'text' },
  read(call) {
    const agent = forOption(call)
    return { key: agent === undefined, agent, run: (tools) => tools.agent.status() }
  },
}

const watchVerb: AgentVerb = {
  name: 'watch',
  usage: '[--until-renewals N] [--ends-within SECONDS] [--for 0x…]',
  summary:
    'shows the window count down and renew; ends after N renewals, or with code 7 when the paid time ends within SECONDS and 8 when access has ended',
  example: 'watch --until-renewals 1',
  options: { 'until-renewals': 'text', 'ends-within': 'text', for: 'text' },
  read(call) {
    const { isJson, terminal } = call
    const agent = forOption(call)
    const limits = {
      untilRenewals: countOption(call, 'until-renewals', 1),
      warnSeconds: countOption(call, 'ends-within', 0),
    }
    const { clock, onInterrupt } = terminal
    return {
      key: agent === undefined,
      agent,
      run: (tools) =>
        runWatch({ ...limits, isJson, agent: tools.agent, clock, onInterrupt, output: terminal }),
    }
  },
}

const cancelVerb: AgentVerb = {
  name: 'cancel',
  summary: 'ends renewals of the agent’s own window, and gets the rest of the balance back',
  example: 'cancel',
  read: () => ({ key: true, run: ({ agent }) => agent.cancel() }),
}

const topUpVerb: AgentVerb = {
  name: 'topup',
  usage: '--hbar N [--for 0x…]',
  summary: 'adds to the balance of an open window',
  example: 'topup --hbar 3',
  options: { hbar: 'text', for: 'text' },
  read(call) {
    const amountTinybar = hbarOption(call, 'hbar') ?? 0n
    if (amountTinybar === 0n) throw new BadUsage('Say how much to add: topup --hbar N.')
    return {
      key: true,
      contract: true,
      agent: forOption(call),
      run: ({ agent }) => agent.topUp(amountTinybar),
    }
  },
}

const guardVerb: AgentVerb = {
  name: 'guard',
  usage: 'on|off',
  summary:
    'sets whether calls in the window must prove the agent’s key; off, whoever knows the agent’s address can use the window up',
  example: 'guard on',
  wordsMax: 1,
  read({ words: [word] }) {
    if (word !== 'on' && word !== 'off') throw new BadUsage('Say guard on or guard off.')
    return { key: true, run: ({ agent }) => agent.guard(word === 'on') }
  },
}

const isWebAddress = (text: string): boolean =>
  ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')

const buyVerb: AgentVerb = {
  name: 'buy',
  usage: 'URL [--data JSON] [--max-hbar N] [--max-usdc N] [--max-token 0.0.x=UNITS]',
  summary:
    'calls any shop that takes x402 on Hedera (with --data by POST), and pays at most that: a cap in one asset allows no other; without one, says the price',
  example: 'buy https://shop.example/report --max-usdc 0.05',
  options: { data: 'text', 'max-hbar': 'text', 'max-usdc': 'text', 'max-token': 'texts' },
  wordsMax: 1,
  read(call) {
    const [url = ''] = call.words
    if (!isWebAddress(url)) throw new BadUsage('Say what to buy: buy URL.')
    const json = dataOption(call)
    const caps: SpendCap[] = [...tokenOptions(call)]
    const hbar = hbarOption(call, 'max-hbar')
    if (hbar !== undefined) caps.push({ asset: HBAR_ASSET, amountMax: hbar })
    const usdcUnits = usdcOption(call)
    return {
      key: true,
      async run({ config, payments, signer }) {
        if (signer === undefined) throw new Error('buy without a key')
        const usdc = findUsdc(config.NETWORK)
        if (usdcUnits !== undefined && usdc === undefined)
          throw new BadUsage(
            `Nobody knows USDC on ${config.NETWORK}: allow a token by --max-token.`,
          )
        if (usdcUnits !== undefined && usdc !== undefined)
          caps.push({ asset: usdc.id, amountMax: usdcUnits })
        const mirror = createMirrorNode({ url: config.MIRROR_URL, clock: payments.clock })
        return await buy({ ...payments, url, json, signer, caps, mirror })
      },
    }
  },
}

export const agentVerbs: readonly AgentVerb[] = [
  payVerb,
  statusVerb,
  watchVerb,
  cancelVerb,
  topUpVerb,
  guardVerb,
  buyVerb,
]
