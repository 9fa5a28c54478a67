import { defineConfig } from 'vite';
import { compressed } from './vite.config.ts';

/** The page that a login link opens: what it needs, and nothing of the board, in whose bundle it would share all or nothing. */
export default defineConfig({
  plugins: [compressed],
  publicDir: false,
  build: {
    outDir: 'dist/client',
    emptyOutDir: false,
    rolldownOptions: { input: 'login.html' },
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
