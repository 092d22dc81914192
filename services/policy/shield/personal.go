package shield

import (
	"regexp"
	"strings"
)

// personal finds e-mail addresses, phone numbers, IBANs and card numbers, and verifies check digits.
func personal() detector {
	re := func(category, expression string) detector { return pattern(regexp.MustCompile(expression), category) }
	return all(
		re("email", `[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,24}\b`),
		checked(re("iban", `\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b`), isIBAN),
		checked(re("card", `\b[0-9](?:[ -]?[0-9]){12,18}\b`), isCard),
		checked(re("phone",
			`(?:^|[^\w+])((?:\+|00)[1-9](?:[ ./()-]{0,2}[0-9]){6,14}|\(?0[0-9]{2,5}\)?[ /-](?:[ -]?[0-9]){5,9}|\(?[2-9][0-9]{2}\)?[ .-][0-9]{3}[ `+
				`.-][0-9]{4})\b`), isPhone),
	)
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

// isCard checks the length and the Luhn digit.
func isCard(text string) bool {
	number := digits(text)
	if len(number) < 13 || len(number) > 19 || strings.Count(number, number[:1]) == len(number) {
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
func isIBAN(text string) bool {
	compact := strings.ReplaceAll(text, " ", "")
	if len(compact) < 15 || len(compact) > 34 {
		return false
	}
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
