/** An option as it is declared by a command. */
export type Flag =
  | { readonly kind: 'switch'; readonly name: string; readonly help: string }
  | {
      readonly kind: 'value';
      readonly name: string;
      readonly placeholder: string;
      readonly repeatable: boolean;
      /** The environment variable that says the same, where there is one. The flag wins. */
      readonly variable: string | null;
      readonly help: string;
    }
  /** A word without dashes, such as the name of a file: at most one a command. */
  | { readonly kind: 'argument'; readonly name: string; readonly placeholder: string; readonly help: string }
  /** What only a variable may say, because a command line can be read by everybody. */
  | { readonly kind: 'variable'; readonly name: string; readonly variable: string; readonly help: string };

/** What the user gave, by the name of the flag, and where: `from` is `--port`, or `CALLBOARD_PORT`, or `FILE`. */
export type Given = ReadonlyMap<string, { readonly value: string | string[] | boolean; readonly from: string }>;
