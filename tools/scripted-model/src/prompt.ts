import { Script } from './script.ts';

const NAME = /^[\w.-]+$/;

/** A prompt that carries its own script, encoded so that no word of a reply occurs in the prompt. */
export function prompt(script: Script, visibleText = ''): string {
  const encoded = Buffer.from(JSON.stringify(Script.parse(script)), 'utf8').toString('base64url');
  return join(visibleText, `[[script:${encoded}]]`);
}

/** A prompt that names a script the model was given under that name. */
export function named(name: string, visibleText = ''): string {
  if (!NAME.test(name)) throw new Error(`not a script name: ${name}`);
  return join(visibleText, `[[script:@${name}]]`);
}

/** Decodes the script of an inline marker. @throws when the text is not a script */
export function decodeScript(encoded: string): Script {
  return Script.parse(JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')));
}

function join(visibleText: string, marker: string): string {
  return visibleText === '' ? marker : `${visibleText} ${marker}`;
}
