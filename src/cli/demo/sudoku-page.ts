/** A page with a playable sudoku, for people who pay on the checkout page. */
import type { Sudoku } from './sudoku.ts'

export function playPage({ puzzle, solution }: Sudoku): string {
  const cells = puzzle
    .join('')
    .split('')
    .map((digit, index) =>
      digit === '.'
        ? `<input inputmode="numeric" maxlength="1" aria-label="Row ${Math.floor(index / 9) + 1}, column ${(index % 9) + 1}">`
        : `<b>${digit}</b>`,
    )
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Your sudoku</title>
<style>
:root{--line:light-dark(#14171f,#eceef3);color-scheme:light dark;font-family:system-ui,sans-serif}
body{display:grid;place-items:center;min-height:100vh;margin:0;background:light-dark(#f6f7f9,#0e1016)}
main{text-align:center}
div{display:grid;grid-template-columns:repeat(9,min(9.5vw,48px));border:2px solid var(--line);width:max-content}
div>*{box-sizing:border-box;width:100%;aspect-ratio:1;border:1px solid light-dark(#c7ccd6,#3a4050);font:1.3rem system-ui;text-align:center;display:grid;place-items:center;margin:0;background:light-dark(#fff,#171a22);color:inherit}
div>:nth-child(3n):not(:nth-child(9n)){border-right:2px solid var(--line)}
div>:nth-child(n+19):nth-child(-n+27),div>:nth-child(n+46):nth-child(-n+54){border-bottom:2px solid var(--line)}
input{color:light-dark(#4f3cc9,#a99cff)!important}
</style>
<main><h1>Your sudoku</h1><div>${cells.join('')}</div><p role="status">It has exactly one solution. Good luck!</p></main>
<script>
const solution=${JSON.stringify(solution.join(''))}
const cells=[...document.querySelectorAll('main div > *')]
document.addEventListener('input',()=>{
  const filled=cells.map((cell)=>cell.value??cell.textContent).join('')
  if(filled.length===81)document.querySelector('p').textContent=filled===solution?'Solved. Well done!':'Not quite: something is wrong.'
})
</script></html>
`
}
