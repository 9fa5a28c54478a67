import './lib/zod-setup.ts';
import '@fontsource-variable/inter/index.css';
import '@fontsource-variable/jetbrains-mono/index.css';
import './app/mantine.css';
import '@mantine/notifications/styles.css';
import './app/tokens.css';
import './app/base.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/app.tsx';
import { createQueryClient } from './data/queries.ts';
import { isAboveBase, withBase } from './lib/base-path.ts';
import { startClock } from './lib/hooks.ts';
import { readBasePath } from './lib/read-base-path.ts';
import { startStream } from './stream/start-stream.ts';

readBasePath();
if (isAboveBase(location.pathname)) location.replace(withBase(location.pathname + location.search + location.hash));
else start();

function start(): void {
  const cache = createQueryClient();
  const stream = startStream(cache);
  startClock();
  const root = document.getElementById('root');
  if (root === null) throw new Error('index.html has no #root');
  createRoot(root).render(
    <StrictMode>
      <App cache={cache} stream={stream} />
    </StrictMode>,
  );
}
