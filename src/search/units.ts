import { stemsOf } from './stems.ts';

/** Ways to write a unit, the sign first. A plural has the same stem. */
const UNITS: readonly (readonly string[])[] = [
  ['km', 'kilometer', 'kilometre'],
  ['m', 'meter', 'metre'],
  ['cm', 'centimeter', 'centimetre'],
  ['mm', 'millimeter', 'millimetre'],
  ['kg', 'kilogram', 'kilogramm', 'kilo'],
  ['g', 'gram', 'gramm'],
  ['mg', 'milligram', 'milligramm'],
  ['l', 'liter', 'litre'],
  ['ml', 'milliliter', 'millilitre'],
  ['ms', 'millisecond', 'millisekunde'],
  ['s', 'sec', 'second', 'sekunde'],
  ['min', 'minute'],
  ['h', 'hr', 'hour', 'stunde'],
  ['kb', 'kilobyte'],
  ['mb', 'megabyte'],
  ['gb', 'gigabyte'],
  ['tb', 'terabyte'],
  ['w', 'watt'],
  ['kw', 'kilowatt'],
  ['v', 'volt'],
  ['hz', 'hertz'],
  ['mhz', 'megahertz'],
  ['ghz', 'gigahertz'],
  ['eur', 'euro'],
  ['usd', 'dollar'],
];
const AMOUNT = /(?<![\p{L}\p{N}.,])(\d+(?:[.,]\d+)*)[ \u00a0\u202f]?(\p{L}{1,14})(?![\p{L}\p{N}])/gu;
const MOST_AMOUNTS = 4;

/** The other ways to write the amounts of a query, each as consecutive stems: "10 km" is also `10km` and "10 kilometres". */
export function otherUnits(text: string): string[][] {
  const amounts = [...text.matchAll(AMOUNT)].slice(0, MOST_AMOUNTS);
  return amounts.flatMap(([typed, number = '', unit = '']) => {
    const [stem] = stemsOf(unit.toLowerCase());
    const same = UNITS.find((ways) => ways.some((way) => stemsOf(way)[0] === stem)) ?? [];
    const written = [...same.slice(0, 1).map((sign) => `${number}${sign}`), ...same.map((way) => `${number} ${way}`)];
    const byStems = new Map(written.map((way) => [stemsOf(way).join(' '), stemsOf(way)]));
    byStems.delete(stemsOf(typed).join(' '));
    return [...byStems.values()];
  });
}
