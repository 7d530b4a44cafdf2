package sandbox

import (
	"fmt"
	"slices"
	"testing"
)

// Every magic employee id in turn: the statuses of its item on successive
// sends (0: no item named it, -1: the request had no readable answer), and how
// often it was paid in the end. An ordinary colleague travels in each request
// and is paid exactly once, whatever happens.
func TestEveryMagicID(t *testing.T) {
	for id, want := range map[string]struct {
		sends   []int
		effects int
	}{
		"sandbox.422":                   {[]int{422, 422, 422}, 0},
		"sandbox.400.x":                 {[]int{400, 400}, 0},
		"sandbox.503x2":                 {[]int{503, 503, 201, 200}, 1},
		"sandbox.503-after-commit":      {[]int{503, 200}, 1},
		"sandbox.429x1":                 {[]int{429, 201}, 1},
		"sandbox.429-no-hintx1":         {[]int{429, 201}, 1},
		"sandbox.500x1":                 {[]int{500, 201}, 1},
		"sandbox.500-after-commit":      {[]int{500, 200}, 1},
		"sandbox.500-after-commitxall":  {[]int{500, 500, 500}, 1},
		"sandbox.409":                   {[]int{409, 200}, 1},
		"sandbox.409-before-commitx1":   {[]int{409, 201}, 1},
		"sandbox.202x2":                 {[]int{202, 202, 201}, 1},
		"sandbox.401x1":                 {[]int{401, 201}, 1},
		"sandbox.missing":               {[]int{0, 200}, 1},
		"sandbox.missing-before-commit": {[]int{0, 201}, 1},
		"sandbox.doubled":               {[]int{201, 200}, 1},
		"sandbox.contradicted":          {[]int{201, 200}, 1},
		"sandbox.foreign":               {[]int{201, 200}, 1},
		"sandbox.timeout-after-commit":  {[]int{-1, 200}, 1},
		"sandbox.timeout-before-commit": {[]int{-1, 201}, 1},
		"sandbox.reset-after-commit":    {[]int{-1, 200}, 1},
		"sandbox.reset-before-commitx2": {[]int{-1, -1, 201}, 1},
		"sandbox.close":                 {[]int{-1, 200}, 1},
		"sandbox.close-before-commit":   {[]int{-1, 201}, 1},
		"sandbox.close-after-headers":   {[]int{-1, 200}, 1},
		"sandbox.truncate":              {[]int{-1, 200}, 1},
		"sandbox.truncate-chunked":      {[]int{-1, 200}, 1},
		"sandbox.truncate-close":        {[]int{-1, 200}, 1},
		"sandbox.error-body":            {[]int{-1, 200}, 1},
		"sandbox.html":                  {[]int{-1, 200}, 1},
		"sandbox.gzip-bomb":             {[]int{-1, 200}, 1},
		"sandbox.two-values":            {[]int{201, 200}, 1},
		"sandbox.drip":                  {[]int{201, 200}, 1},
		"sandbox.slow":                  {[]int{201, 200}, 1},
		"sandbox.slow-before-commit":    {[]int{201, 200}, 1},
		"sandbox.mistyped":              {[]int{422, 422}, 0},
	} {
		t.Run(id, func(t *testing.T) {
			v := start(t, Config{MaxHold: 1 << 40})
			line := pay{emp: id}
			var got []int
			for range want.sends {
				r, _ := v.post(bodyOf(pay{emp: "colleague"}, line))
				got = append(got, statusOf(r, line.lineKey()))
			}
			if !slices.Equal(got, want.sends) {
				t.Errorf("statuses %v, want %v", got, want.sends)
			}
			if v.effects(id) != want.effects || v.effects("colleague") != 1 {
				t.Errorf("effects %d and %d, want %d and 1", v.effects(id), v.effects("colleague"), want.effects)
			}
		})
	}
}

func statusOf(r reply, key string) int {
	if r.items == nil {
		return -1
	}
	for _, item := range r.items {
		if item.Key == key {
			return item.Status
		}
	}
	return 0
}

func TestMagicItemShapes(t *testing.T) {
	v := start(t, Config{})
	r := v.mustPost(bodyOf(pay{emp: "sandbox.doubled"}, pay{emp: "sandbox.contradicted"}, pay{emp: "sandbox.foreign"}, pay{emp: "sandbox.missing"}))
	if got := fmt.Sprint(r.statuses()); got != "[201 201 201 422 201 201]" || r.status != 207 {
		t.Fatalf("%d %s", r.status, got)
	}
	if r.items[5].Key != foreignKey {
		t.Fatal(r.body)
	}
}

func TestItemHints(t *testing.T) {
	v := start(t, Config{})
	r := v.mustPost(bodyOf(pay{emp: "sandbox.429"}, pay{emp: "sandbox.503"}, pay{emp: "sandbox.429-no-hint"}, pay{emp: "sandbox.422"}))
	var hints []int
	for _, item := range r.items {
		hints = append(hints, item.RetryAfter)
	}
	if !slices.Equal(hints, []int{1, 1, 0, 0}) {
		t.Fatal(hints)
	}
}

// An item refusal drawn for a line that is paid already would be a lie about
// its key; memory answers first.
func TestDrawnRefusalNeverContradictsTheMemory(t *testing.T) {
	v := start(t, Config{})
	v.mustPost(bodyOf(pay{emp: "1"}))
	v.cfg.ItemFaults = mustItemRates(t, "503=1")
	v.restart()
	if r := v.mustPost(bodyOf(pay{emp: "1"}, pay{emp: "2"})); !slices.Equal(r.statuses(), []int{200, 503}) {
		t.Fatal(r.body)
	}
}
