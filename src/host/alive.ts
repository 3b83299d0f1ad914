/** Checks whether processes of this machine are alive. */
import { readFileSync } from 'node:fs'

/** Whether a process is alive, including processes of other users. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The process number, with its start time if the system provides it: numbers are reused, above all in containers. */
export function processName(pid: number): string {
  try {
    // The name of the program comes first and can contain any character, even parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
    return `${pid}:${fields?.[19]}`
  } catch {
    return String(pid)
  }
}

/** Whether the process with this name is alive. */
export function isNameAlive(name: string): boolean {
  const pid = Number.parseInt(name, 10)
  return isAlive(pid) && processName(pid) === name
}
