/** How long the page waits before it tries again. */
const RETRY_SECONDS = 5;

/** It loads nothing, so that it needs no cache, and it shows nothing of the board: what it knew may be outdated. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover" />
    <meta name="color-scheme" content="light dark" />
    <meta http-equiv="refresh" content="${RETRY_SECONDS}" />
    <title>Callboard cannot be reached</title>
    <style>
      html { background: #f5f5f6; color: #17191c; }
      body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1rem; }
      h1 { font-size: 1.5rem; line-height: 1.3; }
      a { display: inline-block; padding: 10px 16px; border-radius: 8px; background: #2a2e34; color: #ffffff; text-decoration: none; }
      @media (prefers-color-scheme: dark) {
        html { background: #0f1012; color: #e9eaec; }
        a { background: #e9eaec; color: #17191c; }
      }
    </style>
  </head>
  <body>
    <main>
      <h1>Callboard cannot be reached</h1>
      <p>This device is offline, or Callboard is not running. Sessions go on without this page as long as Callboard runs, and requests wait for you.</p>
      <p>This page tries again every ${RETRY_SECONDS} seconds. Nothing of the board is shown here, since it may have changed.</p>
      <p><a href="">Try again now</a></p>
    </main>
  </body>
</html>
`;

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
};

/** Returns the page that stands for every page while the server cannot be reached. */
const offlinePage = (): Response => new Response(PAGE, { status: 503, headers: HEADERS });

/** What a proxy answers when it does not reach Callboard, which itself never answers a page so. */
const AWAY: readonly number[] = [502, 503, 504];

/** Returns the server's page; the one that says so if the server, or its proxy, gives none. */
export async function pageOrOffline(load: () => Promise<Response>): Promise<Response> {
  const response = await load().catch(() => null);
  return response === null || AWAY.includes(response.status) ? offlinePage() : response;
}
