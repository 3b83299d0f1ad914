/** Explains the errors of the YAML parser in the words of a person who edits the file. */
import type { ErrorCode, YAMLError } from 'yaml'

const indentation = 'the indentation is wrong: begin all options of one object in the same column'

const explanations: Readonly<Partial<Record<ErrorCode, string>>> = {
  BAD_INDENT: indentation,
  MULTILINE_IMPLICIT_KEY: indentation,
  BLOCK_AS_IMPLICIT_KEY:
    'an option begins inside the value of another one: indent both equally, and put a text that contains ": " in quotes',
  BAD_SCALAR_START: 'a text cannot begin with this character: put the text in quotes',
  MULTIPLE_DOCS: 'a second document begins here: remove the line ---',
  DUPLICATE_KEY: 'the option is set twice: remove one of them',
  TAB_AS_INDENT: 'a tab indents the line: use spaces',
}

/** The first problem of each position, because the parser's later ones follow from it. */
export function listProblems(errors: readonly YAMLError[], at: (offset: number) => string): readonly string[] {
  const problems = new Map<number, string>()
  for (const error of errors) {
    const [offset] = error.pos
    if (!problems.has(offset)) problems.set(offset, `${at(offset)}: ${explain(error)}`)
  }
  return [...problems.values()]
}

function explain({ code, message }: YAMLError): string {
  const [, missing] = /end with a ([\]}])/.exec(message) ?? []
  if (missing !== undefined)
    return `the ${missing} of an earlier ${missing === ']' ? '[' : '{'} is missing: add it before this place`
  const [, mark] = /Missing closing (['"])quote/.exec(message) ?? []
  if (mark !== undefined) return `the closing ${mark} of a text is missing: add it`
  return explanations[code] ?? message.split('\n')[0] ?? ''
}
