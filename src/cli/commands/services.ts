/** Commands that run a service: the demo, the gateway, a chain. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addServiceCommands({ command, run }: Commands): void {
  command('demo', 'run paid resources on a chain of their own, to try everything out')
    .option('--port <number>', 'port of the service (default: 8402, or a free one)')
    .option('--keep', 'keep chain, ledger and wallet for the next time')
    .option('--slot-ms <number>', 'length of a slot of the chain in milliseconds (default: 400)')
    .option('--alone', 'no other customers, who buy something now and then')
    .option('--time-lapse', 'let seven days pass in the first minute, with customers who buy and are rewarded')
    .action(run(async () => (await import('../demo/demo.ts')).demo))

  command('serve', 'charge for an API of yours in any language: a gateway in front of it, from a file')
    .argument('[file]', 'configuration (default: paystile.yaml, paystile.config.ts or their kin in this directory)')
    .option('--port <number>', 'port to listen on, instead of the one in the file')
    .option('--host <address>', 'address to listen on, instead of the one in the file')
    .option('--watch', 'take over changes of the file and of .env as they are saved, as SIGHUP does')
    .option('--check', 'read the file, tell what is wrong with it, and serve nothing')
    .option('--schema', 'print the JSON Schema of the file, for editors')
    .action(run(async () => (await import('../operator/serve.ts')).serve))

  command(
    'worker',
    'share out payments, pay what is owed and send refunds for a gateway, with keys that it need not have',
  )
    .argument('[file]', 'configuration of the gateway (default: as for serve)')
    .option('--dry-run', 'tell who would be paid now, and send nothing')
    .action(run(async () => (await import('../operator/worker.ts')).worker))

  command('localnet', 'run a Solana chain on this machine')
    .option('--port <number>', 'JSON-RPC port; the next one is used too (default: 8899, or a free pair)')
    .option('--keep', 'keep the chain for the next time')
    .option('--slot-ms <number>', 'length of a slot in milliseconds (default: 400)')
    .action(run(async () => (await import('../operator/localnet.ts')).localnet))

  command('desk', 'exchange test tokens with those who convert what they earn, on localnet and devnet')
    .option('--key <file>', 'key file of the wallet that trades (on localnet one is made if you give none)')
    .option('--port <number>', 'port to listen on (default: 8403)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--spread <bps>', 'what it keeps, in hundredths of a percent (default: 30)')
    .option('--rates <source>', 'what tokens are worth: pyth, jupiter, or SOL=150,NATIVE=0.1 (default: test rates)')
    .option('--mint <CODE=address:decimals>', 'mint of a token, where it is not the usual one', collect, [])
    .option('--rpc <url>', 'node to use', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../operator/desk.ts')).desk))
}
