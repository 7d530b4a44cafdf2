package payroll

import "strings"

// currencies lists the active ISO 4217 codes by number of minor digits.
// Source: ISO 4217 list one; codes without a minor unit (metals, test, none)
// are left out because nobody is paid in them.
var currencies = map[int32]string{
	0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
	2: "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD " +
		"CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL " +
		"GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR " +
		"LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD " +
		"PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC " +
		"SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG",
	3: "BHD IQD JOD KWD LYD OMR TND",
	4: "CLF UYW",
}

var minorDigits = func() map[string]int32 {
	m := make(map[string]int32, 180)
	for digits, codes := range currencies {
		for _, code := range strings.Fields(codes) {
			m[code] = digits
		}
	}
	return m
}()

// MinorDigits returns how many digits follow the point in a currency, and
// whether the code is known. Codes are three capitals.
func MinorDigits(currency string) (int32, bool) {
	d, ok := minorDigits[currency]
	return d, ok
}
