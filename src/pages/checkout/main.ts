/** The checkout page's script: the page itself is written by the server, and this brings it to life. */
import './checkout.css'

document.documentElement.dataset['live'] = ''
