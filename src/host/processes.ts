/** The other processes of this gateway, if it has several. All services of a process share them. */
import type { Processes } from '../core/ports/processes.ts'
import { shareInProcess } from './process-wide.ts'

const shared = shareInProcess<{ joined: Processes | undefined }>('processes', () => ({ joined: undefined }))

/** Makes this process one of several. Must be called before it opens a service. */
export function joinProcesses(processes: Processes): void {
  shared.joined = processes
}

/** Undefined if this process is the only one. */
export function findProcesses(): Processes | undefined {
  return shared.joined
}
