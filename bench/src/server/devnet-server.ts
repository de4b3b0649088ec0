// The Hedera stand-in alone in its own measured process, with what the measuring process needs to load it.
import { startDevnet } from '@tallystick/devnet'
import { answerProbe } from './answer-probe.ts'

/** What the measuring process knows about it. */
export type DevnetFacts = {
  readonly pid: number
  readonly senderKey: `0x${string}`
  readonly receiver: `0x${string}`
}

const devnet = await startDevnet()
const [sender, receiver] = await Promise.all(
  ['load sender', 'load receiver'].map((name) =>
    devnet.createAccount({ name, balanceTinybar: 100_000_000_000_000n }),
  ),
)
if (sender === undefined || receiver === undefined) throw new Error('unreachable')
const facts: DevnetFacts = {
  pid: process.pid,
  senderKey: sender.privateKey,
  receiver: receiver.evmAddress,
}
answerProbe({ url: devnet.rpcUrl, details: facts, stop: () => devnet.stop() })
