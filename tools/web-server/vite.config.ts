import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { compression } from 'vite-plugin-compression2';

/** The server sends a compressed copy where the browser takes it. */
const compressed = compression({
  algorithms: ['brotliCompress', 'gzip'],
  include: /\.(html|js|css|svg)$/,
  threshold: 512,
});

/** In Vite's helper that loads what a lazy part imports: what is replaced, and by what. */
const PRELOADS = [
  [
    /const link = document\.createElement\("link"\);/,
    'if (!isCss) return fetch(dep).then((r) => r.ok ? r.blob() : Promise.reject(new Error("not there: " + dep))); $&',
  ],
  [/if \(e\.type === "error"\) rej/, 'if (e.type === "error") link.remove(), rej'],
  [/seen\[href\] = void 0;\s*throw err/, 'delete seen[href]; throw err'],
] as const;

/**
 * Fetches every file of a lazy part, into the browser's cache, before it is imported, and again after a failure. Chromium 150
 * remembers a module that could not be loaded, also one that was only preloaded, and fails each later import of it without
 * asking: after a restart of the web server, a button would do nothing until the page is loaded anew.
 */
const fetchBeforeImport: Plugin = {
  name: 'fetch-before-import',
  transform(code, id) {
    if (id !== '\0vite/preload-helper.js') return null;
    return PRELOADS.reduce((before, [what, by]) => {
      if (!what.test(before)) throw new Error(`Vite's preload helper has changed: it lacks ${what}.`);
      return before.replace(what, by);
    }, code);
  },
};

/** What the page of a login link needs. The two pages themselves are in no group: a page runs all of each file that it loads. */
const LOGIN =
  /\/(node_modules\/(zod|zustand|eventsource-parser)|contract\/src|runtime\/src|client\/lib\/(page-fetch|zod-setup))[/.]/;
const isPage = (id: string) => /(client\/(main\.tsx|login\.ts)|\.html)($|\?)/.test(id);

export default defineConfig({
  plugins: [react(), compressed, fetchBeforeImport],
  publicDir: 'src/client/public',
  // Scripts and styles find each other wherever the server puts them; it writes the paths in its pages.
  experimental: { renderBuiltUrl: (_file, { hostType }) => (hostType === 'html' ? undefined : { relative: true }) },
  build: {
    outDir: 'dist/client',
    rolldownOptions: {
      input: ['index.html', 'login.html'],
      // Few files: a hundred small ones, cut where lazy parts share them, cost a request each and compress worse by a seventh.
      output: {
        codeSplitting: {
          groups: [
            // All that the page of a login link needs; the board needs it too, and has it from there.
            { name: 'login', tags: ['$initial'], test: LOGIN, priority: 2 },
            // What every other page waits for.
            { name: 'first', tags: ['$initial'], test: (id) => !isPage(id), priority: 1 },
            { name: 'shared', minShareCount: 2 },
          ],
        },
      },
    },
    emptyOutDir: true,
    // The content security policy allows no data: URLs but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
});
