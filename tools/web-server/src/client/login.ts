/** The page a login link opens: it creates this browser's key, logs in, and goes on to the board. */
import './lib/zod-setup.ts';
import { type LoginBody, Problem } from '@callboard/contract';
import { routes, serviceRoutes } from '@callboard/contract/client';
import type { z } from 'zod';
import { withBase } from './lib/base-path.ts';
import { makeKey, pageFetch, takeNewKey } from './lib/page-fetch.ts';
import { readBasePath } from './lib/read-base-path.ts';

const NEXT = 'Get a new link: press l in Callboard’s terminal, or run npx callboard link.';
const AGAIN = 'Then open the link once more: it has not been used.';

readBasePath();

/** Keeps the page loading until it is clear what follows, as a redirect would: who waits for it finds the board. */
const loading = new Image();
loading.src = withBase('/login/wait');

function notify(title: string, sentences: readonly string[]): void {
  const main = document.querySelector('main');
  const heading = document.createElement('h1');
  heading.textContent = title;
  const paragraphs = sentences.map((sentence) => {
    const paragraph = document.createElement('p');
    paragraph.textContent = sentence;
    return paragraph;
  });
  main?.replaceChildren(heading, ...paragraphs);
  loading.removeAttribute('src');
}

/** Replaces the page, so that the link stays in no history. */
const toTheBoard = (): void => location.replace(withBase(hasTour ? '/?tour' : '/'));

async function problemOf(response: Response): Promise<Problem | null> {
  return Problem.safeParse(await response.json().catch(() => null)).data ?? null;
}

const isLoggedIn = async (): Promise<boolean> => (await pageFetch(routes.get_logins.path)).ok;

async function logIn(code: string): Promise<void> {
  const key = await makeKey().catch(() => null);
  if (key === null) {
    const text =
      'Callboard keeps a key in it (IndexedDB), so that nobody else can use its login. Allow site data for this address, or use another browser.';
    return notify('This browser keeps no data for Callboard', [text, AGAIN]);
  }
  const body = { code, key } satisfies z.input<typeof LoginBody>;
  const response = await fetch(withBase(serviceRoutes.logIn.path), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (response.ok) {
    await takeNewKey();
    return toTheBoard();
  }
  const problem = await problemOf(response);
  if (problem?.code !== 'bad_login_link' && problem?.code !== 'bad_request') {
    return notify('Login is not possible just now', [
      problem?.detail ?? 'Callboard gave no answer.',
      'Open the link again in a moment.',
    ]);
  }
  // The link was opened again in the browser that used it.
  if (await isLoggedIn()) return toTheBoard();
  notify('This login link does not work any more', [
    'It was used already, or it has expired. Each link works once.',
    NEXT,
  ]);
}

const params = new URLSearchParams(location.search);
const code = params.get('code') ?? '';
/** The demo's link leads to its tour. */
const hasTour = params.has('tour');
history.replaceState(null, '', withBase('/login'));
logIn(code).catch(() =>
  notify('Login is not possible just now', ['Callboard did not answer.', `Open the link again in a moment. ${NEXT}`]),
);
