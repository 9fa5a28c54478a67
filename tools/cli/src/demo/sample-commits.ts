/** A commit of the sample repository: its message, and the files it adds. */
export interface SampleCommit {
  readonly message: string;
  readonly files: Readonly<Record<string, string>>;
}

const README = `# Shop

A tiny shop: a cart, prices with tax, and a receipt.

TODO: say how to run the checks
`;

const CART = `import { priceOf } from './prices.ts';

export interface Line {
  product: string;
  quantity: number;
}

/** The sum of a cart, in euros. */
export function total(lines: Line[]): number {
  let sum = 0;
  for (const line of lines) {
    sum += priceOf(line.product) * line.quantity;
  }
  return sum;
}
`;

const PRICES = `const prices: Record<string, number> = {
  teapot: 24.9,
  cup: 6.35,
  kettle: 39,
};

const TAX = 0.19;

/** The price of a product with tax, in euros. */
export function priceOf(product: string): number {
  const net = prices[product];
  if (net === undefined) throw new Error(\`no such product: \${product}\`);
  return net * (1 + TAX);
}
`;

const RECEIPT = `import { type Line, total } from './cart.ts';

/** The receipt of a cart as text. */
export function receipt(lines: Line[]): string {
  const rows = lines.map(({ product, quantity }) => \`\${quantity} x \${product}\`);
  return [...rows, \`Total: \${total(lines)} EUR\`].join('\\n');
}
`;

const CHECK = `#!/bin/sh
# Looks the sources over.
for file in src/*.ts; do
  echo "ok   $file ($(wc -l <"$file" | tr -d ' ') lines)"
done
echo "All checks passed."
`;

const IMPORTED_STAGE = `---
id: STAGE-001-002-003
title: 'Wish list (start me: from a file)'
priority: 4
status: Not Started
---

Add a wish list to the shop: a file of its own, with functions to add and to remove a product.
`;

/** The sample repository: a tiny shop, with a stage in a Markdown file. */
export const sampleCommits: readonly SampleCommit[] = [
  {
    message: 'A cart, prices and a receipt',
    files: { 'README.md': README, 'src/cart.ts': CART, 'src/prices.ts': PRICES, 'src/receipt.ts': RECEIPT },
  },
  {
    message: 'Checks, and the first planned stage',
    files: { 'scripts/check.sh': CHECK, 'stages/STAGE-001-002-003.md': IMPORTED_STAGE },
  },
];
