/** Commands that run a service: the demo, the gateway, a chain. */
import { type Commands, networkOption, nodeOption, repeatable } from '../run.ts'

export function addServiceCommands({ command, run }: Commands): void {
  command('demo', 'run a demo service with paid resources on a local chain')
    .option('--port <number>', 'port of the service (default: 8402, or a free one)')
    .option('--keep', 'keep the chain, the ledger and the wallet for the next start')
    .option('--slot-ms <number>', 'slot time of the chain in milliseconds (default: 400)')
    .option('--alone', 'run without simulated customers')
    .option('--time-lapse', 'simulate seven days of sales and rewards in the first minute')
    .action(run(() => import('../demo/demo.ts'), 'demo'))

  command('serve', 'run a gateway that charges for your API')
    .argument('[file]', 'configuration file (default: paystile.yaml, else paystile.config.ts, in this directory)')
    .option('--port <number>', 'port to listen on, instead of the one in the file')
    .option('--host <address>', 'address to listen on, instead of the one in the file')
    .option('--watch', 'reload the file and .env at every change (without --watch: at SIGHUP)')
    .option('--processes <number>', 'processes that share the port: a number, or auto for one per core (default: 1)')
    .option('--check', 'check the file and exit')
    .option('--schema', 'print the JSON Schema of the file, for editors')
    .action(run(() => import('../operator/serve.ts'), 'serve'))

  command('worker', 'send payouts, conversions and refunds for a gateway, with keys that the gateway does not need')
    .argument('[file]', 'configuration file of the gateway (default: as for serve)')
    .option('--dry-run', 'list the payees of the next payout without paying them')
    .action(run(() => import('../operator/worker.ts'), 'worker'))

  command('localnet', 'run a Solana chain for development, with a faucet, on this machine')
    .option('--port <number>', 'port of JSON-RPC; WebSocket uses the next port (default: 8899, or a free pair)')
    .option('--keep', 'keep the chain for the next start')
    .option('--slot-ms <number>', 'slot time in milliseconds (default: 400)')
    .action(run(() => import('../operator/localnet.ts'), 'localnet'))

  command('desk', 'run a desk that exchanges test tokens, for conversions on localnet and devnet')
    .option('--key <file>', 'key file of the wallet that trades (on localnet: created if omitted)')
    .option('--port <number>', 'port to listen on (default: 8403)')
    .option('--host <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--spread <bps>', 'spread in hundredths of a percent (default: 30)')
    .option('--rates <source>', 'pyth, jupiter, or prices in USDC: SOL=150,NATIVE=0.1 (default: test rates)')
    .addOption(repeatable('--mint <CODE=address:decimals>', 'mint of a token', 'the known mints of the network'))
    .addOption(nodeOption())
    .addOption(networkOption('localnet or devnet (default: PAYSTILE_NETWORK, else a localnet that runs here)'))
    .action(run(() => import('../operator/desk.ts'), 'desk'))
}
