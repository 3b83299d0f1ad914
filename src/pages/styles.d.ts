/** Style sheets are taken by Vite, and say nothing to scripts. */
declare module '*.css'
