/** Checks the secret, its file, and the key files, without printing them. */
import { join } from 'node:path'
import { readKeyring } from '../../core/protocol/keyring.ts'
import { envFileName } from '../../host/env-file.ts'
import { KeyFileError, passphraseVariable, readKeyFile } from '../../host/keys/key-file.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import { findService, type Subject } from './subject.ts'

export function checkSecrets(subject: Subject): readonly Finding[] {
  return [...checkSecret(subject), ...checkEnvFile(subject)]
}

function checkSecret(subject: Subject): readonly Finding[] {
  const { environment, problems } = subject
  const text = environment['PAYSTILE_SECRET']
  if (text) {
    const reading = readKeyring(text)
    if (reading.kind === 'keyring') {
      const { size } = reading.keyring.sealKeys
      return [ok(size === 1 ? 'one valid key' : `${size} valid keys`)]
    }
    // The configuration check reports it, with its place.
    return problems.some(({ variable }) => variable === 'PAYSTILE_SECRET')
      ? []
      : [fail(`PAYSTILE_SECRET: ${reading.why}`, newSecret)]
  }
  const service = findService(subject)
  if (!service) return []
  if (service.keyring) return [ok('one valid key')]
  return [ok('not set; on a localnet the service creates one beside the chain')]
}

const newSecret = `add PAYSTILE_SECRET=1:$(openssl rand -base64 32) to ${envFileName}`

function checkEnvFile({ env, directory }: Subject): readonly Finding[] {
  const path = join(directory, envFileName)
  if (env.kind === 'unreadable')
    return [fail(`${path} cannot be read (${env.why})`, `give this user read access to ${path}, or remove it`)]
  if (env.kind === 'read' && env.isOpen)
    return [warn(`other users of this machine can read ${path}`, `chmod 600 ${path}`)]
  return []
}

/** Paths of key files, from the environment and the configuration. */
export function checkKeys({ environment, routes, plan, own }: Subject): readonly Finding[] {
  const paths = new Map<string, string>()
  for (const { config } of routes) {
    const { accountKey, conversion, sponsor } = config.route
    if (typeof accountKey === 'string') paths.set('accountKey', accountKey)
    if (typeof sponsor?.key === 'string') paths.set('sponsor.key', sponsor.key)
    if (typeof conversion?.key === 'string') paths.set('settlementKey', conversion.key)
  }
  const sponsorKey = own?.facilitator?.sponsor.key
  if (typeof sponsorKey === 'string') paths.set('sponsor.key', sponsorKey)
  const faucetKey = plan?.service.faucetKey ?? environment['PAYSTILE_FAUCET_KEY']
  if (typeof faucetKey === 'string' && faucetKey) paths.set('faucetKey', faucetKey)
  const refundKey = plan?.service.refundKey ?? environment['PAYSTILE_REFUND_KEY']
  if (typeof refundKey === 'string' && refundKey) paths.set('refundKey', refundKey)
  const payoutKey = plan?.service.rewards && (plan.service.rewards.key ?? environment['PAYSTILE_PAYOUT_KEY'])
  if (typeof payoutKey === 'string' && payoutKey) paths.set('rewards.key', payoutKey)
  return [...paths].map(([name, path]) => {
    try {
      readKeyFile(path, environment[passphraseVariable] || undefined).fill(0)
      return ok(`${name}: the key file is usable and readable only by you`)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const mend = error instanceof KeyFileError ? error.remedy : undefined
      return fail(`${name}: ${why}`, mend ?? `set ${name} to the path of a key file`)
    }
  })
}
