/** Lets the browser save a file under this name. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser must have started to read it first.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
