import { defineConfig } from 'vite';
import { compression } from 'vite-plugin-compression2';

/** The service worker: one script without imports, beside the pages, whose name never changes. */
export default defineConfig({
  plugins: [compression({ algorithms: ['brotliCompress', 'gzip'], include: /sw\.js$/ })],
  publicDir: false,
  build: {
    outDir: 'dist/client',
    emptyOutDir: false,
    rolldownOptions: {
      input: 'src/client/worker/service-worker.ts',
      output: { format: 'iife', entryFileNames: 'sw.js' },
    },
  },
});
