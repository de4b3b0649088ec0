import { describe, expect, test } from 'vitest'
import { readArguments } from './read-arguments.ts'

describe('the command line', () => {
  test('by default: the ports where SDKs and tools look for a local Hedera', () => {
    expect(readArguments([])).toEqual({
      kind: 'start',
      host: '127.0.0.1',
      rpcPort: 7546,
      mirrorPort: 5551,
      consensusPort: 50_211,
      stateFile: undefined,
      serverClockOffMs: 0,
      controls: [],
    })
  })

  test('ports and host, in both spellings', () => {
    expect(
      readArguments(['--rpc-port', '0', '--mirror-port=81', '--host', '0.0.0.0']),
    ).toMatchObject({
      rpcPort: 0,
      mirrorPort: 81,
      host: '0.0.0.0',
    })
  })

  test('an X Layer stand-in on request, on 8546 or the given port', () => {
    expect(readArguments(['--xlayer'])).toMatchObject({ kind: 'start', xLayerPort: 8546 })
    expect(readArguments(['--xlayer-port', '0'])).toMatchObject({ kind: 'start', xLayerPort: 0 })
    expect(readArguments(['--xlayer=yes'])).toMatchObject({ kind: 'invalid' })
  })

  test('the network as it is: a profile, a seed, a wrong clock, and any control', () => {
    expect(
      readArguments([
        '--like-testnet',
        '--seed=7',
        '--server-clock-off=-30',
        '--control=setReadLagMs=5000',
        '--control',
        'setNodeDown=["0.0.4",true]',
        '--control=answerPromptly',
      ]),
    ).toMatchObject({
      serverClockOffMs: -30_000,
      controls: [
        { name: 'seedChance', parameters: [7] },
        { name: 'likeTestnet', parameters: [] },
        { name: 'setReadLagMs', parameters: [5_000] },
        { name: 'setNodeDown', parameters: ['0.0.4', true] },
        { name: 'answerPromptly', parameters: [] },
      ],
    })
  })

  test.each([['--help'], ['-h'], ['--rpc-port', '1', '--help']])(
    '%s prints the help',
    (...words) => {
      expect(readArguments(words)).toEqual({ kind: 'help' })
    },
  )

  test('--version is asked for', () => {
    expect(readArguments(['--version'])).toEqual({ kind: 'version' })
  })

  test.each([
    ['--port', /^There is no --port\.$/],
    ['--rpc-prot=1', /Did you mean --rpc-port\?$/],
    ['--rpc-port', /argument missing/],
    ['--rpc-port=x', /needs a port/],
    ['--rpc-port=65536', /needs a port/],
    ['--server-clock-off=soon', /needs seconds/],
    ['--control=setReadLagMs=', /needs NAME=JSON/],
    ['--seed=x', /NAME=JSON/],
  ])('refuses %s', (word, message) => {
    expect(readArguments([word])).toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    })
  })
})
