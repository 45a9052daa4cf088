package fold

import (
	"reflect"
	"slices"
	"testing"

	"callboard/events"
)

// A row of the directory compares every field that other resources show. A new field is displayed, or is named here.
func TestDisplayed_HasEveryField(t *testing.T) {
	hidden := []string{
		"Key", "TopologyKey", "ClassificationKey", // identities: with another one it is another row
		"Versioned", "Status", "CreatedAt", "UpdatedAt", "ExtensionID", "Row", "Detail",
	}
	checkDisplayed(t, Topology{TopologyKey: TopologyKey{Kind: events.EntityExtension}}, hidden)
	checkDisplayed(t, Topology{TopologyKey: TopologyKey{Kind: events.EntityCallGroup}}, hidden)
	checkDisplayed(t, Representative{}, hidden)
	checkDisplayed(t, Classification{}, hidden)
}

func checkDisplayed[R interface{ displayed() displayed }](t *testing.T, row R, hidden []string) {
	t.Helper()
	for field := range reflect.TypeFor[R]().Fields() {
		changed := row
		value := reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index)
		switch value.Kind() {
		case reflect.String:
			value.SetString("x")
		case reflect.Int64:
			value.SetInt(1)
		case reflect.Struct:
			if valid := value.FieldByName("Valid"); valid.IsValid() {
				valid.SetBool(true)
			}
			if number := value.FieldByName("Value"); number.IsValid() && number.Kind() == reflect.String {
				number.SetString("x")
			}
		default:
			t.Fatalf("%T.%s is of a kind that this test does not change", row, field.Name)
		}
		if got, want := changed.displayed() != row.displayed(), !slices.Contains(hidden, field.Name); got != want {
			t.Errorf("%T.%s: displayed = %v, want %v", row, field.Name, got, want)
		}
	}
}
