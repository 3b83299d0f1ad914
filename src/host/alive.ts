/** Processes of this machine, as others can tell whether they are alive. */
import { readFileSync } from 'node:fs'

/** Whether a process is alive, also one of another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Its number, with the time it started where the system tells: numbers are given again, above all in containers. */
export function processName(pid: number): string {
  try {
    // The name of the program comes first and may contain anything, even parentheses.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
    return `${pid}:${fields?.[19]}`
  } catch {
    return String(pid)
  }
}

/** Whether the process that had this name is alive. */
export function isNameAlive(name: string): boolean {
  const pid = Number.parseInt(name, 10)
  return isAlive(pid) && processName(pid) === name
}
