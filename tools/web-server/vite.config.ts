import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
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
