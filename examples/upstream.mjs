import { createServer } from 'node:http'

// Any server in any language works. It can read the X-Payment-* headers.
createServer(({ method, url, headers }, response) => {
  const [path] = (url ?? '/').split('?')
  if (headers.authorization !== `Bearer ${process.env.UPSTREAM_KEY}`) response.writeHead(401).end()
  else if (path === '/status') response.end('up')
  else if (path === '/api/weather')
    response.setHeader('Content-Type', 'application/json').end('{"city":"Oslo","sky":"clear"}')
  else if (path?.startsWith('/files/')) response.end(`${method} ${path}, paid ${headers['x-payment-amount']}`)
  else if (path === '/events') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const timer = setInterval(() => response.write(`data: ${Date.now()}\n\n`), 1000)
    response.on('close', () => clearInterval(timer))
  } else response.writeHead(404).end()
}).listen(3000, '127.0.0.1', () => console.log('The upstream listens at http://127.0.0.1:3000'))
