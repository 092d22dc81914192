package shield

import (
	"regexp"
	"strconv"
	"strings"
)

// Expressions of which a match includes all that decides about a finding, with one character after it.
const (
	letter          = `\p{Latin}\p{Greek}\p{Cyrillic}\p{Mn}`
	emailExpression = `[` + letter + `0-9._%+-]+@[` + letter + `0-9-]+(?:\.[` + letter + `0-9-]+)*\.[` + letter + `]{2,24}`
	phoneExpression = `(?:^|[^\w+])((?:\+|00)[1-9](?:[ ./()-]{0,2}[0-9]){6,14}|\(?0[0-9]{2,5}\)?[ /-](?:[ -]?[0-9]){5,9}|` +
		`\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ .-][0-9]{4})\b`
	ibanOutline = `[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){0,30}[ -]?(?s:.)`
	cardOutline = `[2-6](?:[ -]?[0-9]){0,18}[ -]?(?s:.)`
)

// emails finds addresses in Latin, Greek and Cyrillic letters.
func emails() detector {
	return with(pattern(regexp.MustCompile(emailExpression), "email"), "@")
}

// ibanLengths are the lengths of IBANs by country, as the SWIFT registry has them.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 " +
	"FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 " +
	"LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 " +
	"RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

// ibans finds IBANs of any country: of its length, with or without spaces or hyphens, and with the right check digits.
func ibans() detector {
	begin := regexp.MustCompile(`\b[A-Za-z]{2}[0-9]{2}`)
	lengths := map[string]int{}
	for entry := range strings.FieldsSeq(ibanLengths) {
		n, _ := strconv.Atoi(entry[2:])
		lengths[entry[:2]] = n
	}
	return func(text string) []finding {
		var out []finding
		for _, m := range begin.FindAllStringIndex(text, -1) {
			length := lengths[strings.ToUpper(text[m[0]:m[0]+2])]
			to, compact := take(text, m[0], length, isAlphanumeric)
			if length > 0 && len(compact) == length && isIBAN(strings.ToUpper(compact)) && (to == len(text) || !isAlphanumeric(text[to])) {
				out = append(out, finding{from: m[0], to: to, category: "iban"})
			}
		}
		return out
	}
}

// take reads n bytes that are of a kind, with at most one space or hyphen between any two. It returns where they end, and them alone;
// fewer if there are not so many.
func take(text string, from, n int, of func(byte) bool) (to int, compact string) {
	out := make([]byte, 0, n)
	to = from
	for i := from; i < len(text) && len(out) < n; i++ {
		switch {
		case of(text[i]):
			out = append(out, text[i])
			to = i + 1
		case (text[i] == ' ' || text[i] == '-') && i == to && i > from:
		default:
			return to, string(out)
		}
	}
	return to, string(out)
}

func isAlphanumeric(b byte) bool { return isDigit(b) || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// cards finds card numbers of 13 to 19 digits, with or without spaces or hyphens, and with the right Luhn digit. Other numbers may stand
// before or after, with a space between, as expiry dates do.
func cards() detector {
	return func(text string) []finding {
		var out []finding
		for from := 0; from < len(text); from++ {
			if text[from] < '2' || text[from] > '6' || from > 0 && isAlphanumeric(text[from-1]) {
				continue
			}
			for n := 19; n >= 13; n-- {
				to, number := take(text, from, n, isDigit)
				if len(number) == n && (to == len(text) || !isAlphanumeric(text[to])) && isCard(number) {
					out = append(out, finding{from: from, to: to, category: "card"})
					from = to
					break
				}
			}
		}
		return out
	}
}

func phones() detector {
	return checked(pattern(regexp.MustCompile(phoneExpression), "phone"), isPhone)
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, text)
}

func isPhone(text string) bool {
	n := len(digits(text))
	return n >= 7 && n <= 17
}

// isCard checks the Luhn digit.
func isCard(number string) bool {
	if strings.Count(number, number[:1]) == len(number) {
		return false
	}
	sum := 0
	for i := range len(number) {
		d := int(number[len(number)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// isIBAN checks the remainder by 97.
func isIBAN(compact string) bool {
	rest := 0
	for _, c := range compact[4:] + compact[:4] {
		if c >= 'A' && c <= 'Z' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest == 1
}
