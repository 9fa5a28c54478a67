const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** A page of a few sentences, without script. Titles and sentences are plain text. */
export function plainPage(title: string, sentences: readonly string[]): string {
  const paragraphs = sentences.map((sentence) => `<p>${escapeHtml(sentence)}</p>`).join('\n');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} - Callboard</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34rem; margin: 15vh auto 0; padding: 0 1rem; }
</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${paragraphs}
</main>
</body>
</html>
`;
}

export const usedLinkPage = (): string =>
  plainPage('This login link does not work any more', [
    'It was already used, or it has expired: every link is good for one browser, once.',
    'Use the browser that opened it first, or start Callboard again to get a new link.',
  ]);
