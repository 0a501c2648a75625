"""Whether people find what they mean: the demo's records, and occupations from ESCO's excerpt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from served import DEMO

from domain.records import RECORD_KINDS, RecordFilters, RecordHit, RecordKind
from providers.embedding import LocalEmbedder
from retrieval.records.loading import replace_records
from retrieval.records.search import RecordSearch
from retrieval.records.store import RecordStore

pytestmark = pytest.mark.integration

EMBEDDER = LocalEmbedder()
ESCO = Path(__file__).resolve().parents[2].parent / "shared/data/esco_occupations_en_fr.jsonl"

Search = Callable[..., list[RecordHit]]


@pytest.fixture(scope="module")
def search(milvus_uri: str) -> Iterator[Search]:
    """The search over the demo's records and, as another tenant, ESCO's occupations."""
    runner = asyncio.Runner()
    store = RecordStore(milvus_uri, EMBEDDER)

    async def load() -> None:
        for kind in RECORD_KINDS:
            file = DEMO / "records" / f"{kind}.jsonl"
            await replace_records(store, EMBEDDER, file, kind, "demo")
        assert ESCO.is_file(), f"the data file {ESCO.name} has to lie in ../shared/data"
        await replace_records(store, EMBEDDER, ESCO, "occupations", "esco")

    def run(tenant: str, kind: RecordKind, query: str, limit: int = 3) -> list[RecordHit]:
        found = RecordSearch(store, EMBEDDER).search(
            tenant, kind, query, RecordFilters(), limit, ()
        )
        return runner.run(found)

    runner.run(load())
    yield run
    runner.run(store.close())
    runner.close()


@pytest.mark.parametrize(
    ("kind", "query", "expected"),
    [
        ("opportunities", "I would like to fly drones", "O-102"),
        ("opportunities", "a job on the ferry for the summer", "O-103"),
        ("opportunities", "night shift watching the turbines", "O-110"),
        ("opportunities", "Je voudrais souder des coques", "O-202"),
        ("opportunities", "un poste de plongeur pour inspecter les ancrages", "O-216"),
        ("opportunities", "une mission sur le bilan carbone", "O-219"),
        ("opportunities", "Ich möchte in der Küche arbeiten", "O-314"),
        ("opportunities", "Solaranlage auf dem Dach planen", "O-319"),
        ("trainings", "How do I learn to lead people?", "TR-501"),
        ("trainings", "course about writing better reports", "TR-507"),
        ("trainings", "devenir secouriste", "TR-604"),
        ("trainings", "formation à la conduite de chariot élévateur", "TR-611"),
        ("trainings", "Staplerschein machen", "TR-706"),
        ("trainings", "Nähte mit Ultraschall prüfen", "TR-703"),
        ("people", "someone who repairs composite hulls", "P-810"),
        ("people", "qui sait souder l'aluminium ?", "P-825"),
        ("people", "Wer kennt sich mit Linux und Netzwerken aus?", "P-848"),
        ("occupations", "I inspect berths and ladders", "C-01"),
        ("occupations", "Je plonge pour inspecter des ouvrages", "C-14"),
        ("occupations", "Ich schweiße Schiffsrümpfe", "C-21"),
    ],
)
def test_the_demos_records_are_found_by_what_is_meant(
    search: Search, kind: RecordKind, query: str, expected: str
) -> None:
    assert expected in [hit.record.id for hit in search("demo", kind, query)]


@pytest.mark.parametrize(
    ("name", "bearers"),
    [
        ("Anna Petersen", {"P-806", "P-827", "P-843"}),
        ("anna petersen", {"P-806", "P-827", "P-843"}),
        ("Thomas Martin", {"P-805", "P-823"}),
        ("Jan Kroger", {"P-844", "P-845"}),
        ("Le Gall", {"P-809", "P-824"}),
        ("Kerensa", {"P-801"}),
    ],
)
def test_all_who_bear_a_name_come_before_everybody_else(
    search: Search, name: str, bearers: set[str]
) -> None:
    hits = search("demo", "people", name, 10)
    assert {hit.record.id for hit in hits[: len(bearers)]} == bearers
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)


@pytest.mark.parametrize(
    ("description", "occupation"),
    [
        ("I fight fires on board ships and in harbours", "marine firefighter"),
        ("I translate books and documents from one language into another", "translator"),
        ("I keep the old records of a city safe, sorted and open for readers", "archivist"),
        ("I calculate wages and check time sheets so that all are paid", "payroll clerk"),
        ("I treat people's feet and remove corns and ingrown nails", "podiatrist"),
        ("I cut men's hair and trim their beards", "barber"),
        ("I deliver letters and parcels to homes on my round", "postman/postwoman"),
        ("I look after elderly people in their homes, help them wash and eat", "home care aide"),
        ("I present the news on television in the evening", "news anchor"),
        ("I guard inmates and keep order in a prison", "prison officer"),
        (
            "I teach teenagers algebra and geometry",
            "mathematics teacher at secondary school",
        ),
        ("I install computers and help colleagues when software fails", "ICT technician"),
        ("Je traduis des textes d'une langue à une autre", "translator"),
        ("Je distribue le courrier à vélo tous les matins", "postman/postwoman"),
        ("Je soigne les pieds de mes patients", "podiatrist"),
        ("Je surveille les détenus dans une prison", "prison officer"),
        ("Je m'occupe de personnes âgées à leur domicile", "home care aide"),
        ("Je prépare des plats dans la cuisine d'un restaurant", "cook"),
        (
            "J'enseigne les mathématiques à des collégiens",
            "mathematics teacher at secondary school",
        ),
        ("Je calcule les salaires et j'établis les fiches de paie", "payroll clerk"),
        ("J'annonce la météo à la télévision", "weather forecaster"),
        ("Je classe et conserve les documents anciens", "archivist"),
        ("J'installe les ordinateurs et je dépanne en informatique", "ICT technician"),
        ("Je contrôle les marchandises à la frontière", "customs officer"),
    ],
)
def test_a_self_description_finds_its_occupation(
    search: Search, description: str, occupation: str
) -> None:
    hits = search("esco", "occupations", description)
    assert occupation in [hit.record.title for hit in hits]
    assert all(hit.record.details["labels"]["fr"] for hit in hits)
