"""Words of a question that say nothing about its subject, in the three languages."""

from __future__ import annotations

_ENGLISH = """
a about after all also am an and any are as at be because been before being but by can could did do
does doing done for from get gets give go goes got had has have he her here him his how i if in
into is it its just know like long many may me might more most much must my need no not now of off
on one only or other our out over please shall she should so some such tell than that the their
them then there these they this those to too under until up us very want was we were what when
where which while who whom whose why will with without would you your
"""

_FRENCH = """
ai alors as au aucun aussi autre aux avait avant avec avoir ce cela celle ces cet cette chez ci
combien comme comment dans de des dois doit donc du elle elles en encore entre est et eu fait
faire faut ici il ils je jusqu la le les leur leurs lors lorsque lui ma mais me mes moi mon même
ne nos notre nous on ont ou où par pas pendant peu peut peux plus pour pourquoi puis qu quand que
quel quelle quelles quels qui quoi sa sans se ses si son sont sous suis sur ta te tes toi ton tous
tout toute toutes trop tu un une vers voici voilà vos votre vous était être
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander auch auf aus bei beim bin bis bitte da damit
dann darf das dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses
dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen geht gibt
habe haben hat hatte hier hin ich ihm ihn ihr ihre ihren im in ist ja jede jedem jeden jeder jedes
kann kannst kein keine keinem keinen können könnte man mein meine meinem meinen meiner mehr mich
mir mit muss müssen nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so soll
sollte um und uns unser unsere unter viel viele vom von vor wann war warum was weil welche welchem
welchen welcher welches wem wen wenn wer werde werden wie wieder will wir wird wo woher wohin wurde
zu zum zur über
"""

STOP_WORDS = {
    "en": frozenset(_ENGLISH.split()),
    "fr": frozenset(_FRENCH.split()),
    "de": frozenset(_GERMAN.split()),
}
ALL_STOP_WORDS = frozenset[str]().union(*STOP_WORDS.values())
