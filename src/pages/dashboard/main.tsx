/** The dashboard starts here. */
import { render } from 'preact'

function App() {
  return <h1>paystile</h1>
}

const place = document.getElementById('app')
if (place) render(<App />, place)
