/** Commands for setup: write a configuration, check it, create test tokens. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addSetupCommands({ program, command, run }: Commands): void {
  command('init', 'create the configuration and the secret for `serve`')
    .argument('[directory]', 'target directory (default: this one)')
    .option('--upstream <url>', 'address of your API')
    .option('--path <path>', 'paid path: /api/weather, or /api/* for everything below /api')
    .option('--price <decimal>', 'price of a request')
    .option('--token <code>', 'token of the price: USDC (the default), SOL or NATIVE')
    .option('--recipient <address>', 'wallet that receives payments (on localnet created if missing)')
    .addOption(networkOption())
    .option('--yes', 'ask no questions; use defaults for missing options')
    .option('--force', 'replace paystile.yaml; the secret in .env stays')
    .action(run(async () => (await import('../setup/init.ts')).init))

  command('doctor', 'check the setup of a service and show how to fix problems')
    .argument('[file]', 'configuration (default: paystile.yaml in this directory, else the PAYSTILE_ variables)')
    .action(run(async () => (await import('../doctor/doctor.ts')).doctor))

  const mints = program.command('mints').description('manage your own test tokens').exitOverride()
  command('create', 'create test USDC and NATIVE, and print their configuration', mints)
    .argument('[file]', 'key file of the mint authority, which pays the fees (default: your wallet)')
    .option('--rpc <url>', 'Solana node', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../setup/mints.ts')).createMints))
}
