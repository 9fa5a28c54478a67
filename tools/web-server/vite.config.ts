import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { compression } from 'vite-plugin-compression2';

export default defineConfig({
  // The server sends a compressed copy where the browser takes it.
  plugins: [
    react(),
    compression({ algorithms: ['brotliCompress', 'gzip'], include: /\.(html|js|css|svg)$/, threshold: 512 }),
  ],
  publicDir: 'src/client/public',
  build: {
    outDir: 'dist/client',
    rolldownOptions: { input: ['index.html', 'login.html'] },
    emptyOutDir: true,
    // The content security policy allows no data: URLs but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
