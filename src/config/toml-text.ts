export function tomlString(text: string): string {
  return `"${tomlEscaped(text)}"`;
}

/** A text of several lines. */
export function tomlText(text: string): string {
  return `"""\n${text.split(/\r?\n/).map(tomlEscaped).join('\n')}\n"""`;
}

/** JSON escapes are valid TOML; `${` is escaped, because foreign text has no configuration variables. */
function tomlEscaped(text: string): string {
  return JSON.stringify(text.replaceAll('${', () => '$${'))
    .slice(1, -1)
    .replaceAll('\u007f', '\\u007f');
}
