/** Commands that run a service: the demo, the gateway, a chain. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addServiceCommands({ command, run }: Commands): void {
  command('demo', 'run a demo service with paid resources on a local chain')
    .option('--port <number>', 'port of the service (default: 8402, or a free one)')
    .option('--keep', 'keep chain, ledger and wallet for the next start')
    .option('--slot-ms <number>', 'slot time of the chain in milliseconds (default: 400)')
    .option('--alone', 'run without simulated customers')
    .option('--time-lapse', 'simulate seven days of sales and rewards in the first minute')
    .action(run(async () => (await import('../demo/demo.ts')).demo))

  command('serve', 'run a gateway that charges for your API')
    .argument('[file]', 'configuration (default: paystile.yaml (.yml) or paystile.config.ts (.mts, .js, .mjs))')
    .option('--port <number>', 'port to listen on, instead of the one in the file')
    .option('--host <address>', 'address to listen on, instead of the one in the file')
    .option('--watch', 'reload the file and .env when they change (SIGHUP does the same)')
    .option('--check', 'check the file and exit')
    .option('--schema', 'print the JSON Schema of the file, for editors')
    .action(run(async () => (await import('../operator/serve.ts')).serve))

  command('worker', 'run payouts, conversions and refunds for a gateway in a separate process with its own keys')
    .argument('[file]', 'configuration of the gateway (default: as for serve)')
    .option('--dry-run', 'list the payees of the next payout without paying them')
    .action(run(async () => (await import('../operator/worker.ts')).worker))

  command('localnet', 'run a Solana chain on this machine')
    .option('--port <number>', 'JSON-RPC port; the next one is used too (default: 8899, or a free pair)')
    .option('--keep', 'keep the chain for the next start')
    .option('--slot-ms <number>', 'slot time in milliseconds (default: 400)')
    .action(run(async () => (await import('../operator/localnet.ts')).localnet))

  command('desk', 'run a trading desk for test tokens, on localnet and devnet')
    .option('--key <file>', "key file of the desk's wallet (on localnet created if missing)")
    .option('--port <number>', 'port to listen on (default: 8403)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--spread <bps>', 'spread in basis points (default: 30)')
    .option('--rates <source>', 'rates: pyth, jupiter, or SOL=150,NATIVE=0.1 in USDC (default: test rates)')
    .option('--mint <CODE=address:decimals>', 'mint of a token, if it is not the default one', collect, [])
    .option('--rpc <url>', 'Solana node', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../operator/desk.ts')).desk))
}
