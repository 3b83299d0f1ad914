import theme from 'vitepress/theme'
import Diagram from './Diagram.vue'

export default {
  extends: theme,
  enhanceApp({ app }: { readonly app: import('vue').App }) {
    app.component('Diagram', Diagram)
  },
}
