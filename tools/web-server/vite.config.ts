import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compression } from 'vite-plugin-compression2';

/** The server sends a compressed copy where the browser takes it. */
export const compressed = compression({
  algorithms: ['brotliCompress', 'gzip'],
  include: /\.(html|js|css|svg)$/,
  threshold: 512,
});

export default defineConfig({
  plugins: [react(), compressed],
  publicDir: 'src/client/public',
  build: {
    outDir: 'dist/client',
    rolldownOptions: {
      input: 'index.html',
      // What every page waits for is one file: a hundred small ones, cut where lazy parts share them, compress worse by a seventh.
      output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } },
    },
    emptyOutDir: true,
    // The content security policy allows no data: URLs but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
