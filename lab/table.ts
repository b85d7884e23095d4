import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { codeOf, openable } from 'facematch/for-lab';

/** A list with a header line. */
export interface Table {
  columns: string[];
  /** The rows, with the number of each line, from 1. */
  rows: { cells: string[]; line: number }[];
}

/**
 * Reads a tab-separated list in UTF-8, Windows-1252, or UTF-16 with a byte-order mark. Accepts any line ends, and
 * quotes or spaces around cells. Throws an Error that names the file.
 */
export function readTable(file: string): Table {
  const [header = '', ...lines] = tableText(file).split(/\r\n|\n|\r/);
  if (!header.includes('\t') && /[,;]/.test(header)) {
    throw new Error(
      `${file}: expected tabs, but the first line has commas or semicolons; save the list as tab-separated text`,
    );
  }
  const rows = lines.flatMap((line, index) =>
    line.trim() === '' ? [] : [{ cells: cellsOf(line), line: index + 2 }],
  );
  return { columns: cellsOf(header), rows };
}

/** Replaces the backslashes of Windows paths. */
export const pathOf = (cell: string): string => cell.replaceAll('\\', '/');

function tableText(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(openable(file));
  } catch (error) {
    throw new Error(`The list ${file} cannot be read (${codeOf(error)}).`, { cause: error });
  }
  // TextDecoder removes a byte-order mark.
  return new TextDecoder(encodingOf(bytes)).decode(bytes);
}

function encodingOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return isUtf8(bytes) ? 'utf-8' : 'windows-1252';
}

/** Splits a line into cells. Spreadsheets quote cells with commas or quotation marks, and double the quotation marks. */
function cellsOf(line: string): string[] {
  const cells = line.split('\t').map((cell) => cell.trim());
  return cells.map((cell) => /^"(.*)"$/.exec(cell)?.[1]?.replaceAll('""', '"') ?? cell);
}
