/** Commands for payers: quote, pay, verify a payment, manage a wallet. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addBuyerCommands({ program, command, run }: Commands): void {
  const buyer = (name: string, description: string, json?: string) =>
    command(name, description, program, json)
      .argument('<url>', 'address of the resource')
      .option('-X, --request <method>', 'HTTP method')
      .option('-H, --header <line>', 'a header, "Name: value"; may be repeated', collect, [])
      .option('-d, --data <text>', 'request body; @file reads it from a file')
      .option('--token <code>', 'token to pay with; may be repeated, the preferred first', collect, [])
      .option('--rpc <url>', 'node to pay through', collect, [])
      .option('--mint <code=address>', 'a token of your own: NATIVE=<address>:<decimals>[:token-2022]', collect, [])
      .option('--allow-http', 'pay a host other than this machine over plain http')
      .addOption(networkOption())

  buyer(
    'pay',
    'request a resource, pay what it asks, and write it to stdout',
    'write status, headers, payment and body as one line of JSON',
  )
    .option('--wallet <file>', 'key file to pay with')
    .option('-i, --include', 'write status and headers too')
    .option('-o, --output <file>', 'write the body to a file, and go on where an earlier command broke off')
    .option('--max <amount>', 'the most to pay, such as "0.05 USDC"', collect, [])
    .option('--prepay <megabytes>', 'how much to buy ahead, where bytes are sold so')
    .option('--buy-more', 'with -o: pay for more until the file is whole, each time within the limits')
    .option('--sig', "prove the payment by the wallet's signature instead of a secret")
    .option('--dry-run', 'check everything and pay nothing')
    .option('--timeout <seconds>', 'how long to wait for payment and resource (default: 120)')
    .action(run(async () => (await import('../buyer/pay.ts')).pay))

  buyer('quote', 'ask what a resource costs, and pay nothing')
    .option('--timeout <seconds>', 'how long to wait for the answer (default: 60)')
    .action(run(async () => (await import('../buyer/quote.ts')).quote))

  command('verify', 'check a payment against the chain, and use nothing up')
    .argument('<tx>', 'transaction signature')
    .argument('<requestId>', 'requestId it claims to pay')
    .option('--recipient <address>', 'who had to be paid')
    .option('--amount <decimal>', 'how much had to be paid')
    .option('--token <code>', 'in which token')
    .option('--payer <address>', 'who had to pay')
    .option('--config <file>', 'configuration of the service that was paid (default: paystile.yaml here)')
    .option('--rpc <url>', 'node to ask', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../buyer/verify.ts')).verify))

  const wallet = program.command('wallet').description('the wallet that pays').exitOverride()
  command('new', 'make a wallet', wallet)
    .argument('[file]', 'key file to write')
    .action(run(async () => (await import('../buyer/wallet.ts')).newWallet))
  command('show', 'show the address of the wallet', wallet)
    .argument('[file]', 'key file')
    .action(run(async () => (await import('../buyer/wallet.ts')).showWallet))
  command('balance', 'show what the wallet holds', wallet)
    .argument('[file]', 'key file')
    .option('--rpc <url>', 'node to ask', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../buyer/wallet.ts')).showBalance))

  command('faucet', 'get test money on a test network')
    .argument('[address]', 'who gets it (default: your wallet)')
    .option('--token <code>', 'only this token')
    .option('--amount <decimal>', 'how much of it')
    .option('--url <url>', 'faucet to ask (default: those of all localnets that run here)')
    .action(run(async () => (await import('../buyer/faucet.ts')).faucet))
}
