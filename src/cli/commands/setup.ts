/** Commands for setup: write a configuration, check it, create test tokens. */
import { type Commands, collect, networkOption } from '../run.ts'

export function addSetupCommands({ program, command, run }: Commands): void {
  command('init', 'write what `serve` needs: configuration and secret')
    .argument('[directory]', 'where to (default: here)')
    .option('--upstream <url>', 'your own service, which is to be protected')
    .option('--path <path>', 'what costs something: /api/weather, or /api/* for all below /api')
    .option('--price <decimal>', 'price of a request')
    .option('--token <code>', 'token of the price: USDC (the default), SOL or NATIVE')
    .option('--recipient <address>', 'wallet that is paid (on localnet one is made if you give none)')
    .addOption(networkOption())
    .option('--yes', 'ask nothing, and take the usual values for what is not given')
    .option('--force', 'replace paystile.yaml; the secret in .env stays')
    .action(run(async () => (await import('../setup/init.ts')).init))

  command('doctor', 'check everything a service needs, and say what to do')
    .argument('[file]', 'configuration (default: paystile.yaml here, else the PAYSTILE_ variables)')
    .action(run(async () => (await import('../doctor/doctor.ts')).doctor))

  const mints = program.command('mints').description('test tokens of your own').exitOverride()
  command('create', 'make test USDC and NATIVE that belong to a key, and print the lines that use them', mints)
    .argument('[file]', 'key file that owns them and pays for them (default: your wallet)')
    .option('--rpc <url>', 'node to use', collect, [])
    .addOption(networkOption())
    .action(run(async () => (await import('../setup/mints.ts')).createMints))
}
